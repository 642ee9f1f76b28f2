import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from '@jest/globals';

/** All bytes that a server answers a GET with. */
export async function answerOf(port: number, path = '/hello'): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  const answer = await text(socket);
  if (statusOf(answer) === 429) expectSound(answer);
  return answer;
}

export function statusOf(answer: string): number {
  return Number(answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 '.length + 3));
}

export async function statusesOf(times: number, port: number, path?: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < times; i += 1) statuses.push(statusOf(await answerOf(port, path)));
  return statuses;
}

/** A denial says what can be counted on: numbers that are some. */
function expectSound(answer: string): void {
  expect(answer).not.toMatch(/undefined|NaN|Infinity/);
  expect(answer).toMatch(/^Retry-After: [1-9]\d*\r$/im);
  for (const [, value] of answer.matchAll(/^X-RateLimit-\w+: (.*)\r$/gim)) {
    expect(value).toMatch(/^\d+$/);
  }
  const { error } = JSON.parse(answer.slice(answer.indexOf('{')));
  expect(error).toMatchObject({ code: 'RATE_LIMITED', policy: expect.any(String) });
  for (const value of [error.retryAfter, error.resetAt]) expect(Number.isFinite(value)).toBe(true);
}
