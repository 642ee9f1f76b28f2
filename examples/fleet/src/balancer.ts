import { nginxVersion, startNginx } from './nginx.ts';
import { startProxy } from './proxy.ts';

/** Which process a request goes to: each in its turn, or the one that the client's address is hashed to. */
export type Method = 'round robin' | 'sticky';

/** A load balancer that runs. A process that refuses connections is passed over. */
export interface Balancer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts one, on a free port of 127.0.0.1.
 *
 * @param ports of the processes
 */
export type StartBalancer = (method: Method, ports: readonly number[]) => Promise<Balancer>;

/** A program that balances load. */
export interface BalancerProgram {
  readonly name: string;
  readonly start: StartBalancer;
}

/** nginx where it is on the PATH, else a proxy in this process; or the one that is asked for. */
export async function findBalancer(wanted = ''): Promise<BalancerProgram> {
  if (!['', 'nginx', 'proxy'].includes(wanted)) {
    throw new Error(`Expected BALANCER to be nginx or proxy, got ${wanted}`);
  }
  const version = wanted === 'proxy' ? undefined : await nginxVersion();
  if (version !== undefined) return { name: `nginx ${version}`, start: startNginx };
  if (wanted === 'nginx') throw new Error('Expected nginx to be on the PATH');
  return { name: 'a proxy (httpxy)', start: startProxy };
}
