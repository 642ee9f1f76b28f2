// A process of its own, on whichever version of Node.js it is started: hosts the apps of the scenarios, one at a time,
// as it is told by the process that started it.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { ManualClock } from '@floodgate/core/testing';
import { makeApp } from './apps/make-app.ts';
import type { SetUp } from './apps/set-up.ts';
import type { Command, Reply } from './commands.ts';
import { type Counts, countsInMemory, countsOnRedis } from './counts.ts';
import type { Framework } from './frameworks.ts';
import { NOON } from './notation.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';

/** An app that listens. */
interface Hosted {
  readonly server: Server;
  readonly clock: ManualClock;
  readonly counts: Counts;
  readonly events: string[];
}

/** Of one millisecond or more each. */
const MOST_TRIES = 5000;

let hosted: Hosted | undefined;

process.on('message', async (command: Command) => {
  process.send?.(
    await obey(command).catch((error: Error): Reply => ({ error: error.stack ?? '' })),
  );
});
// Nobody is left to ask.
process.on('disconnect', () => process.exit());

async function obey(command: Command): Promise<Reply> {
  if (command.do === 'open') {
    const scenario = scenarios.find(({ name }) => name === command.scenario);
    if (scenario === undefined) throw new Error(`There is no scenario ${command.scenario}`);
    hosted = await open(command, scenario);
    return { port: (hosted.server.address() as AddressInfo).port };
  }
  if (hosted === undefined) throw new Error('No app is open');
  const { server, clock, counts, events } = hosted;
  switch (command.do) {
    case 'happen':
      if ('advanceMs' in command.event) clock.advance(command.event.advanceMs);
      else counts.happen(command.event.store);
      return {};
    case 'wait-for-sleeper':
      for (let tries = 0; clock.sleeping === 0; tries += 1) {
        if (tries === MOST_TRIES) throw new Error('No request is held back');
        await setTimeout(1);
      }
      return {};
    case 'wait-until-settled':
      await counts.settled();
      return {};
    case 'close':
      hosted = undefined;
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      counts.close();
      return { events };
  }
}

async function open(
  { framework, redisUrl }: { readonly framework: Framework; readonly redisUrl: string | undefined },
  scenario: Scenario,
): Promise<Hosted> {
  const { start = NOON, trust = 'none', before = {}, remote = false } = scenario;
  const clock = new ManualClock(Date.parse(start));
  const counts =
    redisUrl === undefined ? countsInMemory(clock, remote) : await countsOnRedis(clock, redisUrl);
  const events: string[] = [];
  const common: SetUp['common'] = {
    store: counts.store,
    onEvent: ({ code, message }) => events.push(`${code}: ${message}`),
  };
  const limiters = scenario.limiters.map(({ on = ['app'], options, handler = false }) => ({
    on,
    options,
    handler,
  }));
  const app = await makeApp[framework]({ trust, before, common, limiters });
  const server = createServer(app).listen(0);
  await once(server, 'listening');
  return { server, clock, counts, events };
}
