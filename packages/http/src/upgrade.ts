import {
  Server as HttpServer,
  type IncomingMessage,
  STATUS_CODES,
  validateHeaderValue,
} from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { FloodgateError, type FloodgateEvent, type Verdict } from '@floodgate/core';
import { invalid, isPromise, messageOf, reportEvent } from '@floodgate/core/internal';
import type { Body } from './body.ts';
import type { Header } from './headers.ts';
import { HttpLimiter } from './http-limiter.ts';
import { handleOf, type LimiterHandle } from './limiter-handle.ts';
import { headerOf } from './node-http.ts';
import type { HttpLimiterOptions } from './options.ts';
import type { Outcome } from './outcome.ts';
import type { RequestView } from './request-view.ts';

/** What {@link limitUpgrade} takes: no `handler` and no `settle`, since an upgrade has no response. */
export type UpgradeLimitOptions = HttpLimiterOptions<IncomingMessage, never>;

/** The request of an upgrade, as its listeners may declare it. */
export interface UpgradeRequest extends IncomingMessage {
  /** What the limiter decided about this upgrade; undefined where it was not limited. */
  rateLimit?: Verdict | undefined;
}

/**
 * Limits how often a client may open a WebSocket, or whatever else it upgrades to: middleware never sees that. Every
 * `upgrade` of the server is decided before its listeners hear of it, those added earlier included. One over its limit
 * is answered with 429, and its connection closed; any other reaches them as it came. While a decision takes time, what
 * the client sends waits for them, and they never hear of a client that goes away.
 *
 * Clients are told apart by the address of the connection, unless `key` says otherwise: behind a proxy,
 * `byIp({ from })`. An upgrade that cannot be decided, for want of a key say, is answered with 500, and `onEvent` is
 * told why. `close()` of the handle ends the limit as well. HTTP/2 has no upgrades.
 *
 * @example
 * const server = createServer(app);
 * new WebSocketServer({ server });
 * limitUpgrade(server, { limit: 10, window: '1m' });
 *
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION` or `FLOODGATE_INVALID_QUOTA` where an option is wrong
 */
export function limitUpgrade(
  server: HttpServer | HttpsServer,
  options: UpgradeLimitOptions,
): LimiterHandle {
  checkServer(server);
  if (options?.handler !== undefined) {
    const expectation = 'absent, since an upgrade has no response to give to it';
    throw invalid(CODE, 'handler', expectation, options.handler);
  }
  if ([options, ...(options?.policies ?? [])].some((one) => one?.settle !== undefined)) {
    const text =
      'Expected no `settle`: of an upgrade there is no response whose end could be waited for';
    throw new FloodgateError(CODE, text);
  }
  // No upgrade is a preflight, though one may be dressed up as such to get past the limit.
  const limiter = new HttpLimiter<IncomingMessage, never>({ ...options, countPreflight: true });
  const report = reporterOf(options.onEvent);
  const unwrap = wrapUpgrade(server, (request, socket, goOn) =>
    new Upgrade(request, socket, report).decide(limiter, goOn),
  );
  return {
    ...handleOf(limiter),
    close() {
      unwrap();
      limiter.close();
    },
  };
}

const CODE = 'FLOODGATE_INVALID_OPTION';

/** How long a refused client may take to read its answer and close its side, in milliseconds. */
const LINGER_MS = 5000;

function checkServer(server: unknown): void {
  // An Express application has an `emit` too, and no upgrade ever comes by there.
  if (server instanceof HttpServer || server instanceof HttpsServer) return;
  throw invalid(CODE, 'server', 'a server of `node:http` or `node:https`', server);
}

/** Calls the listeners of an upgrade; answers whether there are any. */
type GoOn = () => boolean;

type Report = (error: unknown, request: IncomingMessage) => void;

/** Tells of each kind of error once: it may be one that any client can cause as often as it likes. */
function reporterOf(onEvent: UpgradeLimitOptions['onEvent']): Report {
  const told = new Set<unknown>();
  return (error, request) => {
    const kind = error instanceof Error ? ((error as { code?: unknown }).code ?? error.name) : '';
    if (told.has(kind)) return;
    told.add(kind);
    const message = `An upgrade was answered with 500: ${messageOf(error)}`;
    const hook = onEvent && ((event: FloodgateEvent) => onEvent(event, request));
    reportEvent(hook, { code: 'warning', reason: 'upgrade-failed', message, error });
  };
}

/** One upgrade, as the limiter sees it and as it is answered. */
class Upgrade implements RequestView<IncomingMessage> {
  readonly request: UpgradeRequest;
  readonly raw: object;
  readonly route = undefined;
  readonly trustedProxies = 'none';
  readonly isPeerTrusted = false;
  /** Asked for by nobody: no cost of an upgrade is settled. */
  readonly responseEnd = { status: 101, completed: true };
  readonly #socket: Duplex;
  readonly #report: Report;

  constructor(request: IncomingMessage, socket: Duplex, report: Report) {
    this.request = request;
    this.raw = request;
    this.#socket = socket;
    this.#report = report;
  }

  get method(): string {
    return this.request.method as string;
  }

  get address(): string | undefined {
    return this.request.socket.remoteAddress;
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  header(name: string): string | undefined {
    return headerOf(this.request, name);
  }

  /** There is no response before the listeners make one. */
  responseHeader(): undefined {}

  onClose(listener: () => void): () => void {
    this.#socket.once('close', listener);
    return () => this.#socket.off('close', listener);
  }

  /** Answers what `emit` does: whether somebody sees to the upgrade. */
  decide(limiter: HttpLimiter<IncomingMessage, never>, goOn: GoOn): boolean {
    let mayGoOn = false;
    try {
      const outcome = limiter.decide(this);
      if (isPromise(outcome)) void this.#decideLater(outcome, goOn);
      else mayGoOn = this.#answer(outcome);
    } catch (error) {
      this.#fail(error);
    }
    // What a listener throws is not the limiter's to catch.
    return mayGoOn ? goOn() : true;
  }

  async #decideLater(outcome: Promise<Outcome | undefined>, goOn: GoOn): Promise<void> {
    let mayGoOn = false;
    const release = this.#hold();
    try {
      const later = await outcome;
      mayGoOn = release() && this.#answer(later);
    } catch (error) {
      this.#fail(error);
    }
    // The listeners may have been removed meanwhile.
    if (mayGoOn && !goOn()) this.#socket.destroy();
  }

  /**
   * Stands in for the listeners, who do not know of the socket yet: an error on it would end the process, and a client
   * that says goodbye would be waited for. What it returns ends that, and answers whether the client is still there.
   */
  #hold(): () => boolean {
    const socket = this.#socket;
    const drop = (): unknown => socket.destroy();
    socket.on('error', ignore).on('end', drop);
    return () => {
      // The error of a destroyed socket may be still to come.
      if (socket.destroyed) return false;
      socket.off('error', ignore).off('end', drop);
      return true;
    };
  }

  /** Answers a denial; true where the upgrade may go on. */
  #answer(outcome: Outcome | undefined): boolean {
    if (outcome === undefined) return true;
    if (outcome.action === 'drop') return false;
    const { verdict, headers } = outcome;
    this.request.rateLimit = verdict;
    if (outcome.action === 'pass') return true;
    // By the clock that the other headers go by.
    const date = new Date(verdict.tightest.atMs).toUTCString();
    this.#refuse(responseBytes(outcome.status, [...headers, ['Date', date]], outcome.body));
    return false;
  }

  /** Answers an upgrade that could not be decided: nothing of why for the client, all of it for the operator. */
  #fail(error: unknown): void {
    this.#report(error, this.request);
    this.#refuse(responseBytes(500, [], undefined));
  }

  /**
   * Answers and closes the connection: when the client has closed its side, or has had time enough. Closed earlier,
   * with something that it sent unread, it would be reset, and the answer lost on its way.
   */
  #refuse(answer: Buffer): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.on('error', ignore).once('close', () => clearTimeout(timer));
    socket.end(answer);
    socket.resume();
  }
}

function ignore(): void {}

/** A whole response as it goes over the wire, the last one on its connection. */
function responseBytes(status: number, headers: readonly Header[], body: Body | undefined): Buffer {
  const content = Buffer.from(body?.content ?? '');
  const all = [...headers];
  if (body !== undefined) all.push(['Content-Type', body.contentType]);
  all.push(['Content-Length', String(content.length)], ['Connection', 'close']);
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
  for (const [name, value] of all) {
    // Throws where a line break would begin another header.
    validateHeaderValue(name, value);
    head += `${name}: ${value}\r\n`;
  }
  return Buffer.concat([Buffer.from(`${head}\r\n`, 'latin1'), content]);
}

/** An `emit` around another; of one that is done with, `unwrap` puts back what was there before. */
interface Layer {
  (this: unknown, ...args: unknown[]): boolean;
  unwrap?: () => void;
}

/**
 * Has `onUpgrade` called for each `upgrade`, in the place of the listeners. What it returns undoes that, whatever has
 * been put around the server's `emit` since.
 */
function wrapUpgrade(
  server: object,
  onUpgrade: (request: IncomingMessage, socket: Duplex, goOn: GoOn) => boolean,
): () => void {
  const emitter = server as { emit: Layer };
  const isOwn = Object.hasOwn(emitter, 'emit');
  const { emit } = emitter;
  let isOver = false;
  const layer: Layer = function emitLimited(...args) {
    if (isOver || args[0] !== 'upgrade') return Reflect.apply(emit, this, args);
    const [, request, socket] = args as [string, IncomingMessage, Duplex];
    return onUpgrade(request, socket, () => Reflect.apply(emit, this, args));
  };
  emitter.emit = layer;

  return function unwrapUpgrade() {
    isOver = true;
    layer.unwrap = () => {
      if (isOwn) emitter.emit = emit;
      else Reflect.deleteProperty(emitter, 'emit');
    };
    // Those below that were done with earlier are on top now.
    while (emitter.emit.unwrap !== undefined) emitter.emit.unwrap();
  };
}
