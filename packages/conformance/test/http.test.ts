import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { expectPlayed } from './http/expect-played.ts';
import { frameworks } from './http/frameworks.ts';
import { nodeVersions } from './http/node-versions.ts';
import { RemoteHost } from './http/remote-host.ts';
import { scenarios } from './http/scenarios.ts';

// One list of requests and answers, http/scenarios.ts, which every framework's adapter passes byte for byte, on the
// oldest and the newest version of the framework, on every supported version of Node.js.

describe.each(nodeVersions)('Node.js $major', ({ binary }) => {
  if (binary === undefined) {
    test.skip('is not installed for this platform', () => {});
    return;
  }

  let host: RemoteHost;
  beforeAll(() => {
    host = new RemoteHost(binary);
  });
  afterAll(() => host.stop());

  describe.each(frameworks)('$framework', ({ framework, family }) => {
    const able = scenarios.filter(({ except }) => except?.[family] === undefined);

    test.each(able)('$name', async (scenario) => {
      expectPlayed(scenario, family, await host.play(framework, scenario));
    });

    for (const { name, except } of scenarios) {
      if (except?.[family] !== undefined) test.skip(`${name}: ${except[family]}`, () => {});
    }
  });
});
