import { once } from 'node:events';
import { createServer, ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, jest, test } from '@jest/globals';
import { onResponseClose } from '../src/node-http.ts';

/** Hands over the response to a real request, and afterwards ends it. */
async function withResponse(work: (response: ServerResponse) => void): Promise<void> {
  const server = createServer((_request, response) => {
    work(response);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.end('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n').resume();
  await once(client, 'close');
  server.close();
  await once(server, 'close');
}

describe('the end of a response', () => {
  test('is told once, though response and connection close', async () => {
    const listener = jest.fn();
    await withResponse((response) => onResponseClose(response, listener));
    expect(listener).toHaveBeenCalledTimes(1);
  });

  test('is not told any more once nobody wants to know, however often that is said', async () => {
    const listener = jest.fn();
    const rooms: number[] = [];
    await withResponse((response) => {
      const { socket } = response.req;
      rooms.push(socket.getMaxListeners());
      const stop = onResponseClose(response, listener);
      stop();
      stop();
      rooms.push(socket.getMaxListeners());
    });
    expect(listener).not.toHaveBeenCalled();
    expect(rooms[1]).toBe(rooms[0]);
  });

  // More listeners than that on one socket would be warned of; 0 is no limit.
  test.each([
    [10, 40],
    [0, 0],
  ])('may be waited for by many on one connection (%i listeners)', async (room, roomMeanwhile) => {
    const rooms: number[] = [];
    await withResponse(({ req }) => {
      req.socket.setMaxListeners(room);
      const waiting = Array.from({ length: 30 }, () => new ServerResponse(req));
      const stops = waiting.map((response) => onResponseClose(response, () => {}));
      rooms.push(req.socket.getMaxListeners());
      for (const stop of stops) stop();
      rooms.push(req.socket.getMaxListeners());
    });
    expect(rooms).toEqual([roomMeanwhile, room]);
  });
});
