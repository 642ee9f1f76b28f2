import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ManualClock } from '@floodgate/core/testing';
import { MemoryStore } from '@floodgate/express';
import { type Accounts, MemoryAccounts } from '../src/accounts.ts';
import { createApp } from '../src/app.ts';
import { DEMO_USERS } from '../src/demo-users.ts';

export const OPERATOR_TOKEN = 'a-token-of-an-operator-for-tests-only';
export const OPERATOR: { readonly Authorization: string } = {
  Authorization: `Bearer ${OPERATOR_TOKEN}`,
};

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** The body as JSON, as what a test expects. */
  json(): never;
}

/** The app on a port of its own, by a clock that a test moves. */
export interface TestServer {
  readonly url: string;
  readonly clock: ManualClock;
  readonly store: MemoryStore;
  readonly accounts: MemoryAccounts;
  readonly lines: readonly string[];
  ask(
    method: string,
    path: string,
    headers?: Readonly<Record<string, string>>,
    body?: unknown,
  ): Promise<Answer>;
  /** A request for quotes with an API key, from an address. */
  quotes(apiKey: string, address?: string): Promise<Answer>;
  close(): Promise<void>;
}

export interface TestOptions {
  /** What the app asks, where it is not the table itself. */
  readonly wrap?: (accounts: MemoryAccounts) => Accounts;
  /** Whether the test is a proxy of ours, so that it can be many clients. @default true */
  readonly isProxy?: boolean;
}

export async function startTestServer({
  wrap = (accounts) => accounts,
  isProxy = true,
}: TestOptions = {}): Promise<TestServer> {
  const clock = new ManualClock(Date.parse('2026-11-30T12:00:24Z'));
  const store = new MemoryStore({ clock });
  const accounts = new MemoryAccounts(DEMO_USERS);
  const lines: string[] = [];
  const app = createApp({
    operatorToken: OPERATOR_TOKEN,
    store,
    accounts: wrap(accounts),
    log: (line) => lines.push(line),
  });
  if (isProxy) app.set('trust proxy', 'loopback');
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const ask: TestServer['ask'] = async (method, path, headers = {}, body = undefined) => {
    const response = await fetch(url + path, {
      method,
      headers: { 'X-Forwarded-For': '203.0.113.1', 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status } = response;
    return { status, headers: response.headers, body: text, json: () => JSON.parse(text) as never };
  };
  return {
    url,
    clock,
    store,
    accounts,
    lines,
    ask,
    quotes: (apiKey, address = '203.0.113.1') =>
      ask('GET', '/v1/quotes', { 'X-API-Key': apiKey, 'X-Forwarded-For': address }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** How often each status came, of requests of which twenty are under way at once. */
export async function statusesOf(
  times: number,
  send: () => Promise<Answer>,
): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let done = 0; done < times; ) {
    const batch = Array.from({ length: Math.min(20, times - done) }, send);
    for (const { status } of await Promise.all(batch)) counts[status] = (counts[status] ?? 0) + 1;
    done += batch.length;
  }
  return counts;
}
