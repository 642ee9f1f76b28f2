import {
  MemoryStore,
  type PolicyDecision,
  type RateLimitOptions,
  type Store,
  type Verdict,
} from '@floodgate/express';
import { Counter, Gauge, Registry } from 'prom-client';

type Hooks = Required<Pick<RateLimitOptions, 'onVerdict' | 'onEvent'>>;

export interface Metrics {
  /** The hooks by which the verdicts and events of a limiter are counted, under a name for it. */
  hooksOf(limiter: string): Hooks;
  /** All of it, in Prometheus's text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

/**
 * Counts what limiters decide and tell.
 *
 * No label is a key. Each value of a label is a time series, held here and in Prometheus for good: whoever sends from
 * many addresses would fill both, and who called when is not for a dashboard to know. Who it was that was denied, the
 * log says, and `inspect`.
 */
export function createMetrics(store: Store): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const verdicts = new Counter({
    name: 'floodgate_verdicts_total',
    help: 'Requests that a limiter decided',
    labelNames: ['limiter', 'outcome'],
    registers,
  });
  const decisions = new Counter({
    name: 'floodgate_decisions_total',
    help: 'What each policy decided of them',
    labelNames: ['policy', 'outcome'],
    registers,
  });
  const degraded = new Counter({
    name: 'floodgate_degraded_decisions_total',
    help: 'Decisions that onStoreError made, since a store failed',
    labelNames: ['policy', 'rule'],
    registers,
  });
  const events = new Counter({
    name: 'floodgate_events_total',
    help: 'What limiters told their operator',
    labelNames: ['code', 'reason'],
    registers,
  });
  // Redis has metrics of its own.
  if (store instanceof MemoryStore) {
    new Gauge({
      name: 'floodgate_store_keys',
      help: 'Keys that the memory store remembers, once for each policy',
      registers,
      collect() {
        this.set(store.size);
      },
    });
  }

  function onVerdict(limiter: string, verdict: Verdict): void {
    verdicts.inc({ limiter, outcome: outcomeOf(verdict) });
    for (const decision of verdict.decisions) {
      const { policy, degraded: rule } = decision;
      decisions.inc({ policy, outcome: decisionOutcome(decision, verdict) });
      if (rule !== undefined) degraded.inc({ policy, rule });
    }
  }

  return {
    hooksOf: (limiter) => ({
      onVerdict: (verdict) => onVerdict(limiter, verdict),
      onEvent: ({ code, reason = 'none' }) => events.inc({ code, reason }),
    }),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

function outcomeOf({ allowed, enforced }: Verdict): string {
  if (!enforced) return 'watched';
  return allowed ? 'allowed' : 'denied';
}

/** `spared`: it had room, and was not charged, since another policy denied the request. */
function decisionOutcome({ advisory, allowed }: PolicyDecision, verdict: Verdict): string {
  if (advisory) return allowed ? 'shadow-allowed' : 'shadow-denied';
  if (!allowed) return 'denied';
  return verdict.allowed ? 'allowed' : 'spared';
}
