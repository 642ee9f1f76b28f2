import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Outcome } from '../decisions/subject.ts';
import { type Framework, type MakeListener, servers } from './servers.ts';

export interface ServeInput {
  readonly framework: Framework;
  readonly limiter: string;
  readonly outcome: Outcome;
}

/** What a server tells its parent, first of all and whenever it is asked. */
export interface ServerState {
  readonly port: number;
  /** Processor time so far, in microseconds. */
  readonly cpuUs: number;
}

/** A server with one route, behind one limiter, until its parent disconnects. */
export async function serve({ framework, limiter, outcome }: ServeInput): Promise<never> {
  const makeListener = servers[framework][limiter] as MakeListener;
  const server = createServer(await makeListener(outcome));
  const tell = (): void => {
    const { user, system } = process.cpuUsage();
    const { port } = server.address() as AddressInfo;
    process.send?.({ port, cpuUs: user + system } satisfies ServerState);
  };
  // Out of reach of any other machine.
  server.listen(0, '127.0.0.1', tell);
  process.on('message', tell);
  process.once('disconnect', () => process.exit());
  return new Promise(() => {});
}
