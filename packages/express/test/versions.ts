import express from 'express';
import express4 from 'express4';

/** The versions of Express that all tests here run on. The types of one fit both, as far as the tests go. */
export const versions: readonly (readonly [name: string, express: typeof express])[] = [
  ['Express 5', express],
  ['Express 4', express4 as unknown as typeof express],
];
