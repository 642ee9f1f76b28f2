import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Balancer, Method, StartBalancer } from './balancer.ts';

/** Somewhere on the PATH. */
export const NGINX = 'nginx';

/** That of the nginx on the PATH; undefined where there is none. */
export async function nginxVersion(): Promise<string | undefined> {
  try {
    const { stderr } = await promisify(execFile)(NGINX, ['-v']);
    return /nginx\/(\S+)/.exec(stderr)?.[1] ?? '(unknown version)';
  } catch {
    return undefined;
  }
}

/** nginx, with its configuration in a temporary folder that goes with it. */
export const startNginx: StartBalancer = async (method, ports) => {
  const folder = await mkdtemp(join(tmpdir(), 'floodgate-fleet-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    for (;;) {
      const port = await freePort();
      await writeFile(join(folder, 'nginx.conf'), configuration(port, method, ports));
      const stop = await runNginx(folder);
      if (stop !== undefined) return balancer(port, () => stop().then(remove));
    }
  } catch (error) {
    await remove();
    throw error;
  }
};

/** The parts that matter are `upstream` and `location`; the rest is for an nginx that leaves nothing behind. */
function configuration(port: number, method: Method, ports: readonly number[]): string {
  const servers = ports.map((port) => `server 127.0.0.1:${port};`).join('\n    ');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${name};`).join('\n  ')}

  upstream fleet {
    ${method === 'sticky' ? 'hash $remote_addr consistent;' : '# Without a method: each in its turn.'}
    ${servers}
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://fleet;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}
`;
}

/** Runs until the answer is called; undefined where the port was taken meanwhile. */
async function runNginx(folder: string): Promise<(() => Promise<void>) | undefined> {
  const child = spawn(NGINX, ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  let hasEnded = false;
  const ended = once(child, 'close').finally(() => {
    hasEnded = true;
  });
  // It is written once the port is open.
  while (!hasEnded && !(await isThere(join(folder, 'nginx.pid')))) await setTimeout(10);
  if (!hasEnded) {
    return async () => {
      child.kill();
      await ended;
    };
  }
  if (complaints.includes('Address already in use')) return undefined;
  throw new Error(`Expected nginx to start, got:\n${complaints}`);
}

function balancer(port: number, close: () => Promise<void>): Balancer {
  return { url: `http://127.0.0.1:${port}/`, close };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Free a moment ago, that is. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}
