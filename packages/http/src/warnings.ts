import type { FloodgateEvent } from '@floodgate/core';
import { isPromise, messageOf } from '@floodgate/core/internal';
import type { RequestView } from './request-view.ts';
import type { KeyResolver } from './resolvers.ts';

/** How many requests without a user are looked at again when their response has ended. */
const MOST_SECOND_LOOKS = 100;

const TOLD_EVERY_MS = 60_000;

/** After so many different ones, further unknown plans are not told: they may be made up by clients. */
const MOST_SAID = 100;

/**
 * What a limiter notices about the set-up it is used in: each is said once, by an event with code `warning`, and
 * changes no decision.
 */
export class Warnings<Request> {
  readonly #report: (event: FloodgateEvent, request: Request) => void;
  readonly #said = new Set<string>();
  #trustedProxies: RequestView<Request>['trustedProxies'] | undefined;
  #isProxyWarned = false;
  #secondLooksLeft = MOST_SECOND_LOOKS;
  #areUsersKnownInTime = false;
  #toldOfPlansAtMs = Number.NEGATIVE_INFINITY;

  constructor(report: (event: FloodgateEvent, request: Request) => void) {
    this.#report = report;
  }

  /** Looks at where the address of this request came from. */
  checkAddress(view: RequestView<Request>): void {
    if (view.address === undefined) {
      // A closed connection has none any more.
      if (!view.isClosed) this.#warn('no-address', NO_ADDRESS, view.request);
    } else if (!this.#isProxyWarned) {
      // The setting is read once: it is not one that changes under way.
      this.#trustedProxies ??= view.trustedProxies;
      const warning = proxyWarning(this.#trustedProxies, view);
      if (warning === undefined) return;
      this.#isProxyWarned = true;
      this.#warn(warning.reason, warning.message, view.request);
    }
  }

  /** Looks again, when the response has ended, whether a user is known that was not when the limiter asked. */
  checkUserLater(resolver: KeyResolver<Request>, view: RequestView<Request>): void {
    if (this.#areUsersKnownInTime || this.#secondLooksLeft === 0) return;
    this.#secondLooksLeft -= 1;
    view.onClose(() => {
      if (!this.#areUsersKnownInTime) this.#lookAgain(resolver, view);
    });
  }

  /** A user was known in time, so authentication runs before the limiter. */
  userFound(): void {
    this.#areUsersKnownInTime = true;
  }

  /** What is in shadow mode, `who`, met an error that would else have been the request's. */
  shadowFailed(who: string, error: unknown, request: Request): void {
    const reason = messageOf(error);
    const message = `${who} is in shadow mode, and let a request be that it would have failed: ${reason}`;
    this.#once(who, { code: 'warning', reason: 'shadow-failed', message, error }, request);
  }

  /** A look-up of a plan failed, and there is a default. Told once in a while, for as long as they do. */
  planFailed(error: unknown, request: Request, nowMs: number): void {
    if (Math.abs(nowMs - this.#toldOfPlansAtMs) < TOLD_EVERY_MS) return;
    this.#toldOfPlansAtMs = nowMs;
    const message = `\`plan\` failed, and requests get the \`defaultPlan\`: ${messageOf(error)}`;
    this.#report({ code: 'warning', reason: 'plan-failed', message, error }, request);
  }

  /** `plan` answered with what is no plan, and there is a default. */
  unknownPlan(plan: string, defaultPlan: string, request: Request): void {
    if (this.#said.size > MOST_SAID) return;
    const message = `\`plan\` found ${plan}, which is none of \`plans\`: such requests get \`${defaultPlan}\``;
    this.#once(message, { code: 'warning', reason: 'unknown-plan', message }, request);
  }

  /** Two limiters met a request whose policies have one name, and count apart: in what is told they look like one. */
  sameName(name: string, request: Request): void {
    const message =
      `Two limiters on one request have a policy called \`${name}\`, each with counts of its own: headers, bodies and ` +
      'verdicts cannot tell them apart. Give each a `name`.';
    this.#warn('same-name', message, request);
  }

  #lookAgain(resolver: KeyResolver<Request>, view: RequestView<Request>): void {
    const say = (key: string | undefined): void => {
      if (key !== undefined) this.#warn('late-user', LATE_USER, view.request);
    };
    // The function is asked out of turn here, and what it throws is not the request's error.
    try {
      const key = resolver.find(view);
      if (isPromise(key)) key.then(say, () => {});
      else say(key);
    } catch {}
  }

  #warn(reason: string, message: string, request: Request): void {
    this.#once(message, { code: 'warning', reason, message }, request);
  }

  #once(id: string, event: FloodgateEvent, request: Request): void {
    if (this.#said.has(id)) return;
    this.#said.add(id);
    this.#report(event, request);
  }
}

const LATE_USER =
  'No user was found when the limiter ran, but one was when the response had ended: use authentication before the ' +
  'limiter. (After a sign-in this is as it should be.)';

const NO_ADDRESS =
  'A request has no client address, as on a Unix socket: let the framework trust the proxy in front of it, or give ' +
  'another `key`, such as `byIp({ from })`.';

const UNTRUSTED_PROXY = {
  reason: 'untrusted-proxy',
  message:
    'A request has a forwarded address, but the framework trusts no proxy: behind one, all clients share its address. ' +
    'Set `trust proxy` (Express), `trustProxy` (Fastify, not a number) or `proxy` (Koa) to the proxies that are yours, ' +
    'or name the address by `byIp({ from })`.',
};

const EVERY_PROXY_TRUSTED = {
  reason: 'every-proxy-trusted',
  message:
    'The framework believes every forwarded address, so clients can choose their own: set `trust proxy` (Express), ' +
    '`trustProxy` (Fastify) or `maxIpsCount` (Koa) to the proxies that are yours, or to their number.',
};

const PROXY_WITHOUT_ADDRESS = {
  reason: 'proxy-without-address',
  message:
    'A request came from a trusted proxy without X-Forwarded-For and counts for the proxy itself: let the proxy set ' +
    'that header. Health checks of the proxy can be left out by `skip`.',
};

function proxyWarning<Request>(
  trustedProxies: 'none' | 'some' | 'all',
  view: RequestView<Request>,
): { readonly reason: string; readonly message: string } | undefined {
  if (trustedProxies === 'all') return EVERY_PROXY_TRUSTED;
  const isForwarded = view.header('x-forwarded-for') !== undefined;
  if (trustedProxies === 'none') {
    return isForwarded || view.header('forwarded') !== undefined ? UNTRUSTED_PROXY : undefined;
  }
  return !isForwarded && view.isPeerTrusted ? PROXY_WITHOUT_ADDRESS : undefined;
}
