import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toError } from '@floodgate/core/internal';
import type { Body } from './body.ts';
import type { Header } from './headers.ts';
import type { ResponseEnd } from './options.ts';
import type { Denial, Pass } from './outcome.ts';

// What parts of a view and of an outcome come to with Node.js's own request and response.

/** What `header` comes to with Node.js's own request. */
export function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  // The headers are an object like any other: `constructor` is in all of them.
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return Array.isArray(value) ? value.join(', ') : value;
}

/** What `onClose` comes to with Node.js's own response. */
export function onResponseClose(response: ServerResponse, listener: () => void): () => void {
  // A response that waits behind others on its connection says nothing when that closes; and there may be many. In HTTP/2
  // none waits for another.
  const { httpVersionMajor, socket } = response.req;
  const emitters = httpVersionMajor < 2 ? [response, socket] : [response];
  let isOver = false;
  const stop = (): void => {
    if (isOver) return;
    isOver = true;
    for (const emitter of emitters) {
      emitter.off('close', closed);
      changeMaxListeners(emitter, -1);
    }
  };
  const closed = (): void => {
    if (isOver) return;
    stop();
    listener();
  };
  for (const emitter of emitters) {
    changeMaxListeners(emitter, 1);
    emitter.on('close', closed);
  }
  return stop;
}

/** What `responseEnd` comes to with Node.js's own response. */
export function responseEndOf(response: ServerResponse): ResponseEnd {
  const { headersSent, statusCode, writableFinished } = response;
  return {
    status: headersSent ? statusCode : NOT_ANSWERED,
    // One of HTTP/2 that the client has reset says that it is finished, though nobody ended it.
    completed: headersSent && response.writableEnded && writableFinished,
  };
}

/** What servers note of a client that closed its request: no status that is ever sent. */
const NOT_ANSWERED = 499;

/** 0 is no limit. */
function changeMaxListeners(emitter: EventEmitter, difference: number): void {
  const most = emitter.getMaxListeners();
  if (most > 0) emitter.setMaxListeners(most + difference);
}

/** Sets the headers of an outcome, and removes those that no longer hold. */
export function setHeaders(response: ServerResponse, { headers, removed }: Pass | Denial): void {
  for (const name of removed) response.removeHeader(name);
  for (const [name, value] of headers) response.setHeader(name, value);
}

/** Ends a response with a body, or with none. */
export function endWith(response: ServerResponse, body: Body | undefined): void {
  if (body !== undefined) response.setHeader('Content-Type', body.contentType);
  response.setHeader('Content-Length', Buffer.byteLength(body?.content ?? ''));
  response.end(body?.content);
}

/** An error for the framework's handling; the status of a denial that its handler failed to answer is none for it. */
export function failureOf(error: unknown, response: ServerResponse): object {
  response.statusCode = 500;
  return toError(error);
}

/** Does something that may remove all headers of a response, but not these. */
export function keepingHeaders(
  response: ServerResponse,
  headers: readonly Header[],
  work: () => void,
): void {
  const kept = new Set(headers.map(([name]) => name.toLowerCase()));
  const { removeHeader } = response;
  response.removeHeader = (name) => void (kept.has(name) || removeHeader.call(response, name));
  try {
    work();
  } finally {
    response.removeHeader = removeHeader;
  }
}
