import type { StartBalancer } from './balancer.ts';
import { type Answer, isOurs, send } from './client.ts';
import { type Fleet, withFleet } from './fleet.ts';
import { openRedis } from './redis.ts';
import { report } from './report.ts';

export interface ModeOptions {
  readonly startBalancer: StartBalancer;
  readonly print: (text: string) => void;
  /** Ends the demonstration early. */
  readonly signal: AbortSignal;
}

/** The client where there is one. */
const CLIENT = '127.0.0.1';
/** Many people behind one address. */
const OFFICE = '127.0.0.20';
const OTHERS = Array.from({ length: 12 }, (_, i) => `127.0.0.${21 + i}`);

/** Each process counts by itself, and each gets a third of a client's requests. */
export async function memoryInTurn({ print, signal, ...options }: ModeOptions): Promise<void> {
  await withFleet({ ...options, method: 'round robin', signal }, async ({ url }) => {
    print('1. A memory store each, each process in its turn. One client sends 120 requests:\n');
    print(report(await send({ url, client: CLIENT, count: 120, signal })));
  });
}

/** Each process counts by itself, and a client's requests all go to one. */
export async function memorySticky({ print, signal, ...options }: ModeOptions): Promise<void> {
  await withFleet({ ...options, method: 'sticky', signal }, async (fleet) => {
    print('2. A memory store each, sticky by a hash of the client address.\n');
    if (await isOurs(OFFICE)) {
      print('   Twelve clients send 10 requests each, and an office behind one address 120:\n');
      print(report(await sendAsMany(fleet.url, signal)));
    }
    print('   A client sends 120 requests, and after 60 of them its process is lost:\n');
    print(await reportLoss(fleet, { after: 60, signal }));
  });
}

/** All processes count in one Redis. */
export async function sharedInRedis({ print, signal, ...options }: ModeOptions): Promise<void> {
  print('3. Redis, each process in its turn.\n');
  const redis = await openRedis(process.env.REDIS_URL ?? '', CLIENT).catch((error: Error) => {
    print(`   Left out: ${error.message}\n`);
  });
  if (redis === undefined) return;
  try {
    const fleetOptions = {
      ...options,
      method: 'round robin',
      redisUrl: redis.url,
      signal,
    } as const;
    await withFleet(fleetOptions, async (fleet) => {
      print('   One client sends 120 requests, and after 20 of them a process is lost:\n');
      print(await reportLoss(fleet, { after: 20, signal }));
    });
  } finally {
    await redis.close();
  }
}

async function sendAsMany(url: string, signal: AbortSignal): Promise<Answer[]> {
  const answers = await send({ url, client: OFFICE, count: 120, signal });
  for (const client of OTHERS) {
    answers.push(...(await send({ url, client, count: 10, signal })));
  }
  return answers;
}

/** The client sends 120 requests in all, and the process that answered it last is killed on the way. */
async function reportLoss(
  { url, lose }: Fleet,
  { after, signal }: { readonly after: number; readonly signal: AbortSignal },
): Promise<string> {
  const before = await send({ url, client: CLIENT, count: after, signal });
  const process = String(before.at(-1)?.process);
  await lose(process);
  const rest = await send({ url, client: CLIENT, count: 120 - after, signal });
  return report([...before, ...rest], { lost: { process, after } });
}
