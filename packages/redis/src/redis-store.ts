import {
  type Charge,
  type Clock,
  type Decision,
  type Duration,
  FloodgateError,
  type Refund,
  type Store,
  type Subject,
  type TakeOptions,
} from '@floodgate/core';
import {
  checkCharges,
  checkOptions,
  checkRefunds,
  invalid,
  readTime,
  toMilliseconds,
} from '@floodgate/core/internal';
import type { Time } from './batch.ts';
import type { RedisClient } from './client.ts';
import { subjectKey } from './keys.ts';
import { type LocalDenial, LocalDenials } from './local-denials.ts';
import { letterOf } from './quotas.ts';
import { BLOCK, RESET } from './scripts.ts';
import { serversOf } from './servers.ts';
import { SlotCalls } from './slot-calls.ts';

export interface RedisStoreOptions {
  /**
   * Of `ioredis`, `iovalkey` or node-redis, of one server or of a cluster. It stays yours: the store neither connects nor
   * closes nor configures it.
   */
  readonly client: RedisClient;
  /** What every key begins with. Without braces. @default 'floodgate' */
  readonly prefix?: string;
  /**
   * How long a take may wait, whatever number of calls it needs, at most a minute; after that, the limiter's `onStoreError`
   * decides. @default '100ms'
   */
  readonly timeout?: Duration;
  /**
   * Whose time counts: the server's, which is one for all processes; or a clock of yours, for servers that do not let
   * scripts ask for the time. @default 'server'
   */
  readonly clock?: 'server' | Clock;
  /**
   * Who was denied is denied again in this process, without a question to the server, until it may be admitted. What
   * another process gives back, resets or unblocks counts within this time: so often the server is asked again, in the
   * background, while the subject still comes. Not for a smaller cost, nor for policies whose costs are settled; of 10,000
   * subjects. `false`: each request asks. @default '1s'
   */
  readonly localDenials?: Duration | false;
}

/**
 * State in Redis or Valkey, one server or a cluster, counted there for all processes. All charges of a take are one step of
 * an atomic script; on a cluster those of one slot are, and several slots are met one after the other.
 *
 * @example
 * import { Redis } from 'ioredis';
 *
 * const store = new RedisStore({ client: new Redis('redis://localhost:6379') });
 */
export class RedisStore implements Store {
  /** Undefined where the server's counts. */
  readonly clock: Clock | undefined;
  readonly #calls: SlotCalls;
  readonly #denials: LocalDenials | undefined;
  readonly #prefix: string;
  #closed = false;

  /** @throws FloodgateError `FLOODGATE_INVALID_OPTION` */
  constructor(options: RedisStoreOptions) {
    checkOptions(OPTION, 'RedisStore options', options, KNOWN_OPTIONS);
    const { client, prefix = 'floodgate', timeout = '100ms', clock = 'server' } = options;
    const { localDenials = '1s' } = options;
    if (typeof prefix !== 'string' || prefix === '' || /[{}]/.test(prefix)) {
      throw invalid(OPTION, 'prefix', 'a text without braces that is not empty', prefix);
    }
    if (clock !== 'server' && typeof clock?.now !== 'function') {
      throw invalid(OPTION, 'clock', "'server', or an object with `now()`", clock);
    }
    const timeoutMs = toMilliseconds(timeout, 'timeout');
    if (timeoutMs > LONGEST_TIMEOUT_MS) {
      throw invalid(OPTION, 'timeout', 'at most a minute', timeout);
    }
    this.clock = clock === 'server' ? undefined : clock;
    this.#prefix = prefix;
    this.#calls = new SlotCalls(serversOf(client, timeoutMs), timeoutMs, (keys) =>
      this.#denials?.forget(keys),
    );
    if (localDenials !== false) {
      this.#denials = new LocalDenials(this.clock, toInterval(localDenials));
    }
  }

  /**
   * Rejects with `FLOODGATE_STORE_FAILED` where the server gives no answer in time, or one that is an error.
   *
   * @throws FloodgateError `FLOODGATE_INVALID_CHARGE`, `FLOODGATE_INVALID_QUOTA`, `FLOODGATE_DUPLICATE_SUBJECT`,
   *   `FLOODGATE_STORE_CLOSED`
   */
  async take(charges: readonly Charge[], options: TakeOptions = {}): Promise<Decision[]> {
    checkCharges(charges);
    // What travels with others is not to fail them.
    for (const { quota } of charges) letterOf(quota);
    this.#checkOpen();
    const { mode = 'take' } = options;
    const keys = this.#keysOf(charges);
    if (mode === 'force') return this.#calls.force(charges, keys, this.#time());
    const known = mode === 'take' ? this.#deniedAgain(charges, keys) : undefined;
    if (known?.isDue) this.#ask('peek', charges, keys).catch(ignore);
    return known === undefined ? this.#ask(mode, charges, keys, options) : known.decisions;
  }

  async refund(refunds: readonly Refund[]): Promise<void> {
    checkRefunds(refunds);
    this.#checkOpen();
    await this.#calls.refund(refunds, this.#keysOf(refunds), this.#time());
  }

  async block(subjects: readonly Subject[], durationMs: number): Promise<void> {
    if (!Number.isSafeInteger(durationMs) || durationMs < 0) {
      throw invalid(OPTION, 'durationMs', 'whole milliseconds, 0 or more', durationMs);
    }
    this.#checkOpen();
    await this.#calls.change(BLOCK, this.#keysOf(subjects), [...this.#time(), String(durationMs)]);
  }

  async reset(subjects: readonly Subject[]): Promise<void> {
    this.#checkOpen();
    await this.#calls.change(RESET, this.#keysOf(subjects), []);
  }

  /** A closed store takes no more. The client stays open: it is yours. */
  close(): void {
    this.#closed = true;
  }

  async #ask(
    mode: 'take' | 'peek',
    charges: readonly Charge[],
    keys: readonly string[],
    { onLate, onRefundFailed }: TakeOptions = {},
  ): Promise<Decision[]> {
    const moment = this.#denials?.moment;
    const question = { mode, charges, keys, time: this.#time(), onLate, onRefundFailed };
    const met = await this.#calls.ask(question);
    if (moment !== undefined) this.#denials?.note(charges, keys, met, moment);
    return met.decisions;
  }

  /** While Redis is away, it is for the limiter's rule to decide. */
  #deniedAgain(charges: readonly Charge[], keys: readonly string[]): LocalDenial | undefined {
    const known = this.#denials?.of(charges, keys);
    return known !== undefined && this.#calls.isAnswering(keys) ? known : undefined;
  }

  #keysOf(subjects: readonly Subject[]): string[] {
    return subjects.map((subject) => subjectKey(this.#prefix, subject));
  }

  /** The first two arguments of a script, see `lua/clock.lua`. */
  #time(): Time {
    return this.clock === undefined ? ['', '0'] : [String(readTime(this.clock)), SPARE_MS];
  }

  #checkOpen(): void {
    if (this.#closed) {
      throw new FloodgateError('FLOODGATE_STORE_CLOSED', 'The store is closed: it takes no more');
    }
  }
}

const OPTION = 'FLOODGATE_INVALID_OPTION';
const KNOWN_OPTIONS = ['client', 'prefix', 'timeout', 'clock', 'localDenials'];

/** Far more than anybody wants to wait; and no timer can hold more than 24 days. */
const LONGEST_TIMEOUT_MS = 60_000;

/**
 * By a clock that is not the server's, keys are kept an hour longer than they count: so far the two may be apart, or the
 * one that is given stand still, before a state is forgotten too early.
 */
const SPARE_MS = '3600000';

function toInterval(localDenials: Duration): number {
  try {
    return toMilliseconds(localDenials, 'localDenials');
  } catch {
    const expectation =
      "a duration: whole milliseconds above 0, or a text such as '1s', or `false`";
    throw invalid(OPTION, 'localDenials', expectation, localDenials);
  }
}

function ignore(): void {}
