import type { ResponseEnd } from './options.ts';

/** What the limiter asks about one request. An adapter answers it from its framework, and decides nothing. */
export interface RequestView<Request> {
  /** The framework's own request, for the functions in the options. */
  readonly request: Request;
  /** Node.js's own request, the same for all limiters that meet it. */
  readonly raw: object;
  readonly method: string;
  /** The client's address as the framework finds it by its proxy settings; undefined on a Unix socket. */
  readonly address: string | undefined;
  /** The matched route, method and pattern (`GET /users/:id`); undefined where none is matched yet. */
  readonly route: string | undefined;
  /** Whose word on the client's address the framework takes. */
  readonly trustedProxies: 'none' | 'some' | 'all';
  /** Whether the framework takes the word of the peer that this request came from. */
  readonly isPeerTrusted: boolean;
  /** Whether the response has ended, or the client is gone. */
  readonly isClosed: boolean;
  /** How the response ended, once it has. */
  readonly responseEnd: ResponseEnd;
  /** A header's value, by its name in lower case. */
  header(name: string): string | undefined;
  /** What the response's header is so far, by its name in lower case. */
  responseHeader(name: string): string | undefined;
  /** Calls `listener` when the response has ended or the client is gone, unless the returned function is called first. */
  onClose(listener: () => void): () => void;
}

/** What a browser asks before a request to another origin. */
export function isPreflight<Request>(view: RequestView<Request>): boolean {
  return (
    view.method === 'OPTIONS' &&
    view.header('origin') !== undefined &&
    view.header('access-control-request-method') !== undefined
  );
}

/** Whether a framework believes everybody's word on an address, where it is asked by address and distance. */
export function trustOf(trusts: (address: string, hop: number) => boolean): 'some' | 'all' {
  // Addresses that are nobody's (RFC 5737, RFC 3849), further away than any proxy.
  return trusts('192.0.2.1', 1000) || trusts('2001:db8::1', 1000) ? 'all' : 'some';
}
