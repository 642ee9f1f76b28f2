import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

test('the store benchmark runs, and says what it measured', () => {
  const { machine, quick, store } = bench('store', '--quick', '--json');
  expect(machine.node).toBe(process.version);
  expect(quick).toBe(true);

  const subjects = [...new Set(store.rows.map(({ subject }) => subject))];
  expect(subjects).toEqual(
    expect.arrayContaining([
      'bucket in a Map and a Float64Array',
      'MemoryStore.take, token bucket',
      'express-rate-limit MemoryStore',
    ]),
  );
  for (const subject of subjects) {
    const own = store.rows.filter((row) => row.subject === subject);
    expect(own.map(({ keys, outcome }) => [keys, outcome])).toEqual([
      [1, 'admitted'],
      [1, 'denied'],
      [10_000, 'admitted'],
      [10_000, 'denied'],
    ]);
    for (const { ns, ratio } of own) {
      expect(ns).toBeGreaterThan(0);
      expect(ratio).toBeGreaterThan(0);
    }
  }

  expect(store.budgets.length).toBeGreaterThan(0);
  for (const { claim, atMost, measured, met } of store.budgets) {
    expect(claim).toMatch(/^MemoryStore/);
    expect(met).toBe(measured <= atMost);
  }
}, 120_000);

interface Output {
  readonly machine: { readonly node: string };
  readonly quick: boolean;
  readonly store: {
    readonly rows: readonly {
      readonly subject: string;
      readonly keys: number;
      readonly outcome: string;
      readonly ns: number;
      readonly ratio: number;
    }[];
    readonly budgets: readonly {
      readonly claim: string;
      readonly atMost: number;
      readonly measured: number;
      readonly met: boolean;
    }[];
  };
}

/** Runs on the sources, as all tests do: nothing has to be built before. */
function bench(...args: string[]): Output {
  const options = ['--conditions=@floodgate/source', '--import', 'tsx', 'src/main.ts'];
  const cwd = join(__dirname, '..');
  return JSON.parse(
    execFileSync(process.execPath, [...options, ...args], { cwd, encoding: 'utf8' }),
  );
}
