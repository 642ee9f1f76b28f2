import { expect, jest, test } from '@jest/globals';
import { runChild } from './child.ts';

// What a store does to the process that it lives in.

jest.setTimeout(60_000);

test('a process ends by itself though nothing was closed, and a window of 30 days needs no timer', async () => {
  const { stdout, stderr } = await runChild('one-request.ts');
  expect(stdout.trim().split('\n')).toEqual(['[true,true,true,false]', 'false']);
  expect(stderr).toBe('');
});

test('100,000 hits hold no context and leave no timer', async () => {
  const { stdout } = await runChild('hits-in-contexts.ts', { nodeOptions: ['--expose-gc'] });
  const { left, alive } = JSON.parse(stdout);
  expect(left).toBeLessThan(10);
  expect(alive).not.toContain('Timeout');
  expect(alive).not.toContain('Immediate');
});

test('a worker of a cluster is warned that its memory stores count for itself only: each hook, and the process once', async () => {
  const { stdout } = await runChild('cluster-workers.ts');
  const warned = {
    process: [expect.stringMatching(/one of several workers.*memory store/)],
    hooks: ['memory-store-in-cluster', 'memory-store-in-cluster'],
  };
  const nobody = { process: [], hooks: [] };
  expect(JSON.parse(stdout)).toEqual({ primary: nobody, 'worker 1': warned, 'worker 2': warned });
});
