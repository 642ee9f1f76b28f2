import type { IncomingMessage, ServerResponse } from 'node:http';

/** What the limiter asks about one request. An adapter answers it from its framework, and decides nothing. */
export interface RequestView<Request> {
  /** The framework's own request, for the functions in the options. */
  readonly request: Request;
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
  /** A header's value, by its name in lower case. */
  header(name: string): string | undefined;
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

/** What `header` comes to with Node.js's own request. */
export function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  // The headers are an object like any other: `constructor` is in all of them.
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return Array.isArray(value) ? value.join(', ') : value;
}

/** What `onClose` comes to with Node.js's own response. */
export function onResponseClose(response: ServerResponse, listener: () => void): () => void {
  const { socket } = response.req;
  const stop = (): void => {
    response.off('close', closed);
    socket.off('close', closed);
  };
  const closed = (): void => {
    stop();
    listener();
  };
  response.on('close', closed);
  // A response that waits behind others on its connection says nothing when that closes.
  socket.on('close', closed);
  return stop;
}
