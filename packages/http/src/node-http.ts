import type { IncomingMessage, OutgoingMessage, ServerResponse } from 'node:http';
import type { Body } from './body.ts';

// What parts of a view and of an outcome come to with Node.js's own request and response.

/** What `header` comes to with Node.js's own request. */
export function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  // The headers are an object like any other: `constructor` is in all of them.
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return Array.isArray(value) ? value.join(', ') : value;
}

/** What `responseHeader` comes to with Node.js's own response. */
export function responseHeaderOf(response: OutgoingMessage, name: string): string | undefined {
  const value = response.getHeader(name);
  return Array.isArray(value) ? value.join(', ') : value?.toString();
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

/** Ends a response with a body, or with none. */
export function endWith(response: ServerResponse, body: Body | undefined): void {
  if (body !== undefined) response.setHeader('Content-Type', body.contentType);
  response.setHeader('Content-Length', Buffer.byteLength(body?.content ?? ''));
  response.end(body?.content);
}
