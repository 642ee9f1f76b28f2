import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import express4 from 'express4';
import type { Outcome } from '../decisions/subject.ts';
import { type LimiterName, limiters } from './limiters.ts';

export interface ServeInput {
  readonly framework: Framework;
  readonly limiter: LimiterName;
  readonly outcome: Outcome;
}

export type Framework = 'Express 5' | 'Express 4';

/** What a server tells its parent, first of all and whenever it is asked. */
export interface ServerState {
  readonly port: number;
  /** Processor time so far, in microseconds. */
  readonly cpuUs: number;
}

/** A server with one route, behind one limiter, until its parent disconnects. */
export function serve({ framework, limiter, outcome }: ServeInput): Promise<never> {
  const app = makers[framework]();
  limiters[limiter](app, outcome);
  app.get('/', (_, response) => void response.json({ ok: true }));

  const server = createServer(app);
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

const makers: Record<Framework, typeof express> = {
  'Express 5': express,
  'Express 4': express4 as unknown as typeof express,
};
