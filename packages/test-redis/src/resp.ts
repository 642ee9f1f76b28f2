import { connect } from 'node:net';
import { addAbortSignal } from 'node:stream';

/** What and whom to ask. */
export interface Request {
  readonly host: string;
  readonly port: number;
  /** Sent one after the other, on one connection. */
  readonly commands: readonly (readonly string[])[];
  /** Gives up. */
  readonly signal?: AbortSignal;
}

/**
 * Sends commands on a connection of their own.
 *
 * @returns the reply to the last one, as RESP2: string, number, null, or an array of these and of errors. Rejects where
 * any of the commands is answered with an error.
 */
export function send({ host, port, commands, signal }: Request): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    if (signal !== undefined) addAbortSignal(signal, socket);
    let received: Buffer = Buffer.alloc(0);
    let left = commands.length;
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`${host}:${port} closed the connection`)));
    socket.on('data', (data) => {
      received = Buffer.concat([received, data]);
      for (let reply = parse(received, 0); reply !== undefined; reply = parse(received, 0)) {
        received = received.subarray(reply.end);
        left -= 1;
        if (reply.value instanceof Error) reject(reply.value);
        else if (left === 0) resolve(reply.value);
        else continue;
        socket.destroy();
        return;
      }
    });
    socket.write(commands.map(encode).join(''));
  });
}

function encode(command: readonly string[]): string {
  const parts = command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`);
  return `*${command.length}\r\n${parts.join('')}`;
}

/** A reply, and where the next one begins. */
interface Reply {
  readonly value: unknown;
  readonly end: number;
}

/** Undefined where the reply is not all there yet. */
function parse(bytes: Buffer, start: number): Reply | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd === -1) return undefined;
  const type = String.fromCharCode(bytes[start] ?? 0);
  const line = bytes.toString('utf8', start + 1, lineEnd);
  const end = lineEnd + 2;
  switch (type) {
    case '+':
      return { value: line, end };
    case '-':
      return { value: new Error(line), end };
    case ':':
      return { value: Number(line), end };
    case '$':
      return parseBulk(bytes, end, Number(line));
    case '*':
      return parseArray(bytes, end, Number(line));
    default:
      return { value: new Error(`Expected RESP2, got ${JSON.stringify(type + line)}`), end };
  }
}

function parseBulk(bytes: Buffer, start: number, length: number): Reply | undefined {
  if (length === -1) return { value: null, end: start };
  const end = start + length;
  if (bytes.length < end + 2) return undefined;
  return { value: bytes.toString('utf8', start, end), end: end + 2 };
}

function parseArray(bytes: Buffer, start: number, length: number): Reply | undefined {
  if (length === -1) return { value: null, end: start };
  const value: unknown[] = [];
  let end = start;
  while (value.length < length) {
    const item = parse(bytes, end);
    if (item === undefined) return undefined;
    value.push(item.value);
    end = item.end;
  }
  return { value, end };
}
