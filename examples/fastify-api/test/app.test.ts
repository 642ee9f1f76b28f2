import { ManualClock } from '@floodgate/core/testing';
import { expect, test } from '@jest/globals';
import { createApp } from '../src/app.ts';

test('the wait that a denial tells is long enough, and no longer', async () => {
  const clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  const app = await createApp({}, clock);
  const url = await app.listen({ port: 0 });
  const signIn = (): Promise<Response> =>
    fetch(`${url}/sign-in`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"user":"ada","password":"engine"}',
    });

  for (let i = 0; i < 10; i += 1) {
    expect((await signIn()).status).toBe(200);
    clock.advance(1000);
  }
  const denial = await signIn();
  expect(denial.status).toBe(429);
  expect(denial.headers.get('Retry-After')).toBe('50');
  clock.advance(49_999);
  expect((await signIn()).status).toBe(429);
  clock.advance(1);
  expect((await signIn()).status).toBe(200);
  expect((await signIn()).status).toBe(429);
  await app.close();
});

test('a body that is none costs an attempt as well', async () => {
  const app = await createApp();
  const url = await app.listen({ port: 0 });
  const response = await fetch(`${url}/sign-in`, { method: 'POST' });
  expect([response.status, response.headers.get('X-RateLimit-Remaining')]).toEqual([400, '9']);
  await app.close();
});
