import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { Express, Request, Response } from 'express';
import type { LogEntry } from './log-entry.ts';

/**
 * Has an app answer a request just as it does one from Node.js's server, whose own requests and responses these are;
 * only, no bytes go over a network, and the peer's address is the log's client. Rejects with the app's error.
 */
export function send(app: Express, { client, method, target }: LogEntry): Promise<void> {
  const peer = new Peer(client);
  const request = new IncomingMessage(peer as unknown as Socket);
  request.method = method;
  // What is no path (an asterisk, a host to connect to, another server's page) is on no router's map.
  request.url = target.startsWith('/') ? target : '/';
  // A log keeps no bodies.
  request.complete = true;
  request.push(null);
  const response = new ServerResponse(request);
  response.assignSocket(peer as unknown as Socket);
  return new Promise((resolve, reject) => {
    response.once('finish', () => peer.destroy()).once('close', resolve);
    app(request as Request, response as Response, reject);
  });
}

/** The other end of a connection: all that is known of it is its address, and it takes what it is sent. */
class Peer extends Duplex {
  readonly remoteAddress: string;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  override _read(): void {}

  override _write(_chunk: unknown, _encoding: BufferEncoding, done: () => void): void {
    done();
  }
}
