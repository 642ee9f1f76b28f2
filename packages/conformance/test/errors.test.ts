import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '@floodgate/core';
import { expect, test } from '@jest/globals';
import { root } from './workspace.ts';

test('docs/errors.md has one heading for each error code', () => {
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
  const headings = [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  expect(headings.toSorted()).toEqual([...ERROR_CODES].sort());
});
