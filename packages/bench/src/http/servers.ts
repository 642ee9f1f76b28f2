import type { RequestListener } from 'node:http';
import type { Outcome } from '../decisions/subject.ts';
import { express4Servers, express5Servers } from './express-servers.ts';
import { fastifyServers } from './fastify-servers.ts';
import { koaServers } from './koa-servers.ts';

/** One route behind one limiter, as a framework has it. */
export type MakeListener = (outcome: Outcome) => RequestListener | Promise<RequestListener>;

/** By the limiter's name. Each has `bare`, `floor` and one of ours; the others are the peers. */
export type Servers = Readonly<Record<string, MakeListener>>;

export const servers: Readonly<Record<Framework, Servers>> = {
  'Express 5': express5Servers,
  'Express 4': express4Servers,
  'Fastify 5': fastifyServers,
  'Koa 3': koaServers,
};

export type Framework = 'Express 5' | 'Express 4' | 'Fastify 5' | 'Koa 3';
