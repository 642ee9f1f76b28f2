import { RateLimiter } from '@floodgate/core';
import { FailingStore } from '@floodgate/core/testing';
import { MemoryStore } from '@floodgate/express';
import { expect, test } from '@jest/globals';
import type { Request } from 'express';
import { createMetrics } from '../src/metrics.ts';
import { OPERATOR, startTestServer, statusesOf } from './server.ts';

/** The counters of a text in Prometheus's format, without those of help. */
function countersOf(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice('floodgate_'.length, end), Number(line.slice(end + 1))];
    }),
  );
}

test('verdicts and decisions are counted, and no key is told', async () => {
  const server = await startTestServer();
  try {
    await statusesOf(12, () => server.quotes('demo-ada-laptop'));
    await statusesOf(400, () => server.quotes('demo-katherine-fleet'));
    await statusesOf(31, () => server.quotes('unknown'));
    await server.ask('GET', '/limits/42', OPERATOR);
    const { headers, body } = await server.ask('GET', '/metrics', OPERATOR);
    expect(headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(countersOf(body)).toEqual({
      'verdicts_total{limiter="customers",outcome="allowed"}': 410,
      'verdicts_total{limiter="customers",outcome="denied"}': 2,
      'verdicts_total{limiter="refusals",outcome="allowed"}': 30,
      'verdicts_total{limiter="refusals",outcome="denied"}': 1,
      'decisions_total{policy="perMinute",outcome="allowed"}': 10,
      'decisions_total{policy="perMinute",outcome="denied"}': 2,
      'decisions_total{policy="perDay",outcome="allowed"}': 10,
      'decisions_total{policy="perDay",outcome="spared"}': 2,
      'decisions_total{policy="burst",outcome="allowed"}': 10,
      'decisions_total{policy="burst",outcome="denied"}': 2,
      'decisions_total{policy="contract",outcome="allowed"}': 400,
      'decisions_total{policy="perMonth",outcome="allowed"}': 400,
      'decisions_total{policy="apiKey",outcome="allowed"}': 410,
      'decisions_total{policy="apiKey",outcome="spared"}': 2,
      'decisions_total{policy="apiKeyTrial",outcome="shadow-allowed"}': 312,
      'decisions_total{policy="apiKeyTrial",outcome="shadow-denied"}': 100,
      'decisions_total{policy="ceiling",outcome="allowed"}': 410,
      'decisions_total{policy="ceiling",outcome="spared"}': 2,
      'decisions_total{policy="unknownKeys",outcome="allowed"}': 30,
      'decisions_total{policy="unknownKeys",outcome="denied"}': 1,
      store_keys: expect.any(Number),
    });
    expect(body).not.toMatch(/user:|key:|203\.0\.113|demo-/);
    expect(server.lines.join('\n')).not.toMatch(/demo-|unknown(?!Keys)/);
  } finally {
    await server.close();
  }
});

test('a store that fails is seen: by the rule that stood in, and by events', async () => {
  const metrics = createMetrics(new MemoryStore());
  const { onVerdict, onEvent } = metrics.hooksOf('customers');
  const store = new FailingStore(new MemoryStore());
  store.fail();
  const limiter = new RateLimiter({
    store,
    policies: [{ name: 'perMinute', quota: '10/1m' }],
    onStoreError: 'deny',
    onVerdict: (verdict) => onVerdict(verdict, {} as Request),
    onEvent: (event) => onEvent(event),
  });
  await limiter.take('user:42');
  await limiter.take('user:42');
  onEvent({ code: 'warning', reason: 'hook-threw', message: 'onVerdict threw' });
  expect(countersOf(await metrics.text())).toEqual({
    'verdicts_total{limiter="customers",outcome="denied"}': 2,
    'decisions_total{policy="perMinute",outcome="denied"}': 2,
    'degraded_decisions_total{policy="perMinute",rule="deny"}': 2,
    'events_total{code="degraded",reason="none"}': 1,
    'events_total{code="warning",reason="hook-threw"}': 1,
    store_keys: 0,
  });
});

test('a limiter that only watches denies nobody', async () => {
  const metrics = createMetrics(new MemoryStore());
  const { onVerdict } = metrics.hooksOf('trial');
  const limiter = new RateLimiter({ policies: [{ name: 'trial', quota: '1/1m' }] });
  for (let times = 0; times < 2; times += 1) {
    const charge = { policy: 'trial', key: 'user:42', advisory: true };
    onVerdict(limiter.take([charge]), {} as Request);
  }
  expect(countersOf(await metrics.text())).toMatchObject({
    'verdicts_total{limiter="trial",outcome="watched"}': 2,
    'decisions_total{policy="trial",outcome="shadow-allowed"}': 1,
    'decisions_total{policy="trial",outcome="shadow-denied"}': 1,
  });
});
