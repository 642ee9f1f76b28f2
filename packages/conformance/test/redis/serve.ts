import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpLimiterOptions } from '@floodgate/http';
import { makeApp } from '../http/apps/make-app.ts';
import type { Framework } from '../http/frameworks.ts';
import type { AnyRequest, Place } from '../http/scenario.ts';

export type Options = HttpLimiterOptions<AnyRequest, never>;

/** An app that listens. */
export interface Served {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves a framework's app with a limiter for all of it, and perhaps others for some of its places. */
export async function serve(
  framework: Framework,
  store: NonNullable<Options['store']>,
  whole: Options,
  others: Partial<Readonly<Record<Place, Options>>> = {},
): Promise<Served> {
  const limiters = Object.entries({ app: whole, ...others }).map(([place, options]) => {
    return { on: [place as Place], options, handler: false };
  });
  // What is told of a store that is away is for others to test.
  const common = { store, onEvent: () => {} };
  const app = await makeApp[framework]({ trust: 'none', before: {}, common, limiters });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
