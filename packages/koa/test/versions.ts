import Koa from 'koa';
import Koa2 from 'koa2';

/** The versions of Koa that all tests here run on. The types of one fit both, as far as the tests go. */
export const versions: readonly (readonly [name: string, Koa: typeof Koa])[] = [
  ['Koa 3', Koa],
  ['Koa 2', Koa2 as unknown as typeof Koa],
];
