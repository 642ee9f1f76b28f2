import {
  errorOf,
  type HttpLimiter,
  isPromise,
  NodeView,
  type Outcome,
  routeName,
  toError,
} from '@floodgate/http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DenialHandler } from './options.ts';
import { isTrusted, trustedProxiesOf } from './trust.ts';

/** What goes on with a request, or fails it. */
export type Done = (error?: Error) => void;

export type Limiter = HttpLimiter<FastifyRequest, DenialHandler>;

/** One request and its reply, as the limiter sees them and as it is answered. */
export class Exchange extends NodeView<FastifyRequest> {
  readonly #reply: FastifyReply;
  readonly #done: Done;
  #address: string | undefined;

  constructor(request: FastifyRequest, reply: FastifyReply, done: Done) {
    super(request, request.raw, reply.raw);
    this.#reply = reply;
    this.#done = done;
  }

  /** Lets a limiter decide: the request goes on, is answered or fails. */
  meet(limiter: Limiter, throwOnLimit: boolean): void {
    const answer = (outcome: Outcome | undefined): boolean =>
      this.#answer(outcome, limiter.handler, throwOnLimit);
    let mayGoOn = false;
    try {
      const outcome = limiter.decide(this);
      if (isPromise(outcome)) {
        outcome.then((later) => answer(later) && this.#done()).catch(this.#fail);
      } else {
        mayGoOn = answer(outcome);
      }
    } catch (error) {
      this.#fail(error);
    }
    // What fails further on is Fastify's to catch, which does so only for as long as nobody waits.
    if (mayGoOn) this.#done();
  }

  get address(): string | undefined {
    this.#address ??= this.request.ip;
    return this.#address;
  }

  get route(): string | undefined {
    const { method, url } = this.request.routeOptions;
    return url === undefined ? undefined : routeName(method, url);
  }

  get trustedProxies(): 'none' | 'some' | 'all' {
    return trustedProxiesOf(this.request);
  }

  get isPeerTrusted(): boolean {
    return isTrusted(this.request, this.raw.socket.remoteAddress, 1);
  }

  override responseHeader(name: string): string | undefined {
    const value = this.#reply.getHeader(name);
    return Array.isArray(value) ? value.join(', ') : value?.toString();
  }

  readonly #fail = (error: unknown): void => {
    // A handler that failed is no denial, whose status was set for it.
    if (this.request.rateLimit?.allowed === false) this.#reply.code(500);
    this.#done(toError(error) as Error);
  };

  /** Sets headers and answers a denial; true where the request may go on. */
  #answer(
    outcome: Outcome | undefined,
    handler: DenialHandler | undefined,
    throwOnLimit: boolean,
  ): boolean {
    if (outcome === undefined) return true;
    if (outcome.action === 'drop') return false;
    const reply = this.#reply;
    this.request.rateLimit = outcome.verdict;
    // A hook may have answered already.
    if (reply.sent || reply.raw.headersSent) return outcome.action === 'pass';
    for (const name of outcome.removed) {
      reply.removeHeader(name);
      reply.raw.removeHeader(name);
    }
    for (const [name, value] of outcome.headers) {
      // Fastify adds its own headers to those that are there, and who hijacks the reply sends only the latter.
      if (reply.hasHeader(name)) reply.header(name, value);
      else reply.raw.setHeader(name, value);
    }
    if (outcome.action === 'pass') return true;

    const { body } = outcome;
    reply.code(outcome.status);
    if (handler !== undefined) this.#send(handler(this.request, reply));
    else if (throwOnLimit) this.#done(errorOf(outcome));
    // As bytes, which no serializer of the application's takes for something of its own.
    else if (body !== undefined) reply.type(body.contentType).send(Buffer.from(body.content));
    else reply.send();
    return false;
  }

  /** Sends what a handler returned, as Fastify does for those of routes. */
  #send(answer: unknown): void {
    const reply = this.#reply;
    const send = (payload: unknown): void => {
      const isOpen = !reply.sent && !reply.raw.headersSent && !this.isClosed;
      if (isOpen) reply.send(payload);
    };
    // A reply is a promise as well: of its end.
    if (isPromise(answer)) Promise.resolve(answer).then(send).catch(this.#fail);
    else if (answer !== undefined) send(answer);
  }
}
