import { byUser } from '@floodgate/http';
import { advance, answered, denied, get, legacy, served, userOf, withJson } from '../notation.ts';
import type { AnyRequest, Expected, Options, Scenario, Sent } from '../scenario.ts';

const UPGRADE_URL = 'https://api.example.com/pricing';

const PLANS = {
  key: byUser<AnyRequest>(userOf),
  plans: {
    free: { perMinute: 'fixed-window 2/1m', perDay: 'fixed-window 3/1d' },
    pro: { perMinute: 'fixed-window 10/1m', perDay: 'fixed-window 20/1d' },
  },
  plan: ({ headers }: AnyRequest) => headers['x-plan'] as string | undefined,
  defaultPlan: 'free',
  upgradeUrl: UPGRADE_URL,
} satisfies Options;

const ann = (plan?: string): Sent =>
  get('/hello', { 'x-user': 'ann', ...(plan !== undefined && { 'x-plan': plan }) });

interface Refused {
  readonly again: string;
  readonly waitS: number;
  readonly resetAt: number;
  readonly policy: string;
  readonly limits: string;
  readonly plan: string;
}

function refused(
  headers: Readonly<Record<string, string>>,
  { again, waitS, resetAt, policy, limits, plan }: Refused,
): Expected {
  return withJson(
    denied(waitS, headers),
    `{"error":{"code":"RATE_LIMITED","message":"Rate limit exceeded. Try again in ${again}.","retryAfter":${waitS},` +
      `"resetAt":${resetAt},"policy":"${policy}","limits":${limits},"plan":"${plan}","upgradeUrl":"${UPGRADE_URL}"}}`,
  );
}

/** Noon, and midnight after it, in seconds since 1970. */
const [NOON_S, MIDNIGHT_S] = [1_771_416_000, 1_771_459_200];

export const plans: readonly Scenario[] = [
  {
    name: 'all quotas of a plan are met in one step, and a denial tells the plan',
    limiters: [{ options: PLANS }],
    steps: [
      [ann(), served(legacy(2, 1, 60))],
      [ann(), served(legacy(2, 0, 60))],
      [
        ann(),
        refused(legacy(2, 0, 60), {
          again: '1 minute',
          waitS: 60,
          resetAt: NOON_S + 60,
          policy: 'perMinute',
          limits: '{"perMinute":{"limit":2,"remaining":0},"perDay":{"limit":3,"remaining":1}}',
          plan: 'free',
        }),
      ],
      advance(60_000),
      [ann(), served(legacy(3, 0, 43_200))],
      [
        ann(),
        refused(legacy(3, 0, 43_200), {
          again: '12 hours',
          waitS: 43_140,
          resetAt: MIDNIGHT_S,
          policy: 'perDay',
          limits: '{"perMinute":{"limit":2,"remaining":1},"perDay":{"limit":3,"remaining":0}}',
          plan: 'free',
        }),
      ],
    ],
  },
  {
    name: 'a change of plan counts at once, and keeps what was used',
    limiters: [{ options: PLANS }],
    steps: [
      [ann('free'), served(legacy(2, 1, 60))],
      [ann('free'), served(legacy(2, 0, 60))],
      [ann('free'), denied(60, legacy(2, 0, 60))],
      [ann('pro'), served(legacy(10, 7, 60))],
      [ann('free'), denied(43_200, legacy(3, 0, 43_200))],
    ],
  },
  {
    name: 'a plan that is unknown comes to the default one, and is told once',
    limiters: [{ options: PLANS }],
    steps: [
      [ann('gold'), served(legacy(2, 1, 60))],
      [ann('gold'), served(legacy(2, 0, 60))],
    ],
    events: ['warning: `plan` found `gold`, which is none of `plans`: such requests get `free`'],
  },
  {
    name: 'a request without a plan fails where there is no default one',
    limiters: [
      {
        options: {
          ...PLANS,
          plan: async () => undefined,
          defaultPlan: undefined,
        } as unknown as Options,
      },
    ],
    steps: [[ann(), answered(500)]],
  },
  {
    name: 'a plan may come from a database',
    limiters: [
      {
        options: {
          ...PLANS,
          plan: async ({ headers }: AnyRequest) => {
            await new Promise(setImmediate);
            return headers['x-plan'] as string;
          },
        } as Options,
      },
    ],
    steps: [
      [ann('pro'), served(legacy(10, 9, 60))],
      [ann('free'), served(legacy(2, 0, 60))],
    ],
  },
];
