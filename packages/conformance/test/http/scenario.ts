import type { IncomingHttpHeaders } from 'node:http';
import type { HttpLimiterOptions } from '@floodgate/http';
import type { Family } from './frameworks.ts';

/** A limited app, the requests that it is sent, and all that must come of them: the same for every framework. */
export interface Scenario {
  readonly name: string;
  /** When it begins. @default 2026-02-18T12:00:00Z */
  readonly start?: string;
  /** @default 'none' */
  readonly trust?: Trust;
  /** Headers that responses have before a limiter meets the request, as from CORS middleware. */
  readonly before?: Readonly<Record<string, string>>;
  /** Whether the store answers in promises, as one behind a network does. @default false */
  readonly remote?: boolean;
  readonly limiters: readonly Limiter[];
  readonly steps: readonly Step[];
  /** What `onEvent` is told, in order: `code: message`, or a part of that. @default nothing */
  readonly events?: readonly string[];
  /** Frameworks that it cannot be run on, and why. */
  readonly except?: Partial<Readonly<Record<Family, string>>>;
}

/**
 * Whose word on the client's address the app takes: nobody's; that of whoever connects; that of 127.0.0.0/8, from which
 * the test connects; that of 10.0.0.0/8, from which it does not; everybody's.
 */
export type Trust = 'none' | 'one-hop' | 'loopback' | 'elsewhere' | 'all';

/** A limiter and where it sits. */
export interface Limiter {
  /** All the places where this one limiter is met. @default ['app'] */
  readonly on?: readonly Place[];
  /** Without a store and `onEvent`: all limiters of an app share a store, whose clock the steps move. */
  readonly options: Options;
  /** Whether a `handler` of the framework's own answers denials: with `{"slowDown":"<policy>"}`. @default false */
  readonly handler?: boolean;
}

export type Options = HttpLimiterOptions<AnyRequest, never>;

/** What an Express request, a Fastify request and a Koa context have in common. */
export interface AnyRequest {
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  readonly url: string;
  readonly ip?: string | undefined;
}

/** The whole app; all that is under `/api`; or one route. */
export type Place = 'app' | 'api' | Path;

/**
 * The routes of every app, all of them GET but `/echo`, which is POST. There is `OPTIONS /hello` as well, and any other
 * path is not found.
 */
type Path =
  /** Answers `hello`. */
  | '/hello'
  /** Answers `{"ok":true}`. */
  | '/json'
  /** Answers with the request's body. */
  | '/echo'
  | '/users/:id'
  | '/login'
  /** Answers with the key that the verdict on the request names, or `none`. */
  | '/key'
  /** Throws an error. */
  | '/boom'
  /** Throws an error that the framework answers with 403. */
  | '/forbidden'
  /** Streams two server-sent events. */
  | '/stream'
  /** A stream that fails after its first piece, `half`. */
  | '/broken'
  /** Never answers. */
  | '/hang'
  /** Answers with Node.js's own response, past the framework. */
  | '/raw'
  /** Answers 304. */
  | '/not-modified'
  /** Answers 204. */
  | '/empty'
  /** Answers with a `Cache-Control` of its own. */
  | '/cached'
  /** In a router, or plugin, of its own, whose prefix is `/api`. Answers as `/key` does. */
  | '/api/things/:id';

/** One request and what must come of it, or what happens between requests. */
export type Step = Exchange | Event;

export type Exchange = readonly [send: Sent, expect: Expected, more?: More];

interface More {
  /** How long the request is held back: to the millisecond, by the store's clock. @default 0 */
  readonly heldMs?: number;
  /** Where a framework, and not its adapter, makes it come out differently. */
  readonly instead?: Partial<Readonly<Record<Family, Expected & { readonly because: string }>>>;
}

/** The store's clock moves, or the store fails or recovers. */
export type Event = { readonly advanceMs: number } | { readonly store: 'fails' | 'recovers' };

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Expected {
  readonly status: number;
  /**
   * Every header about limits, by its name in lower case: `RateLimit*`, `X-RateLimit-*`, `Retry-After`,
   * `Cache-Control`, `Access-Control-Expose-Headers`. One that is not here must not be there.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** Byte for byte, as `Content-Length` says; not looked at where undefined. Of a HEAD, what a GET would be answered. */
  readonly body?: string;
  /** `Content-Type`; not looked at where undefined. */
  readonly type?: string;
}

export function isExchange(step: Step): step is Exchange {
  return Array.isArray(step);
}
