import { expect } from '@jest/globals';
import type { Family } from './frameworks.ts';
import type { Played } from './remote-host.ts';
import { type Expected, isExchange, type Scenario, type Sent } from './scenario.ts';
import type { Answer } from './send.ts';

/** Expects all answers and events that a scenario names, and no other. */
export function expectPlayed(
  { steps, events: expectedEvents = [] }: Scenario,
  family: Family,
  { answers, events }: Played,
): void {
  const exchanges = steps.filter(isExchange).map(([send, expect, more]) => ({
    send,
    expected: more?.instead?.[family] ?? expect,
  }));
  expect(
    exchanges.map(({ send, expected }, i) => came(send, answers[i] as Answer, expected)),
  ).toEqual(exchanges.map(({ send, expected }) => mustCome(send, expected)));
  expect(events).toEqual(expectedEvents.map((part) => expect.stringContaining(part)));
}

/** What a request came to: as much as is looked at. */
function came({ method, path }: Sent, answer: Answer, { status, type, body }: Expected): unknown {
  return {
    request: `${method} ${path}`,
    status: answer.status,
    headers: answer.headers,
    ...(type !== undefined && { type: answer.type }),
    ...(body !== undefined && { body: answer.body }),
    ...(body !== undefined && status >= 400 && { length: answer.length }),
  };
}

function mustCome({ method, path }: Sent, { status, headers, type, body }: Expected): unknown {
  return {
    request: `${method} ${path}`,
    status,
    headers,
    ...(type !== undefined && { type }),
    ...(body !== undefined && { body: method === 'HEAD' ? '' : body }),
    ...(body !== undefined && status >= 400 && { length: Buffer.byteLength(body) }),
  };
}
