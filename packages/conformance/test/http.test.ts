import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { frameworks } from './http/frameworks.ts';
import { nodeVersions } from './http/node-versions.ts';
import { RemoteHost } from './http/remote-host.ts';
import { type Expected, isExchange, type Sent } from './http/scenario.ts';
import { scenarios } from './http/scenarios.ts';
import type { Answer } from './http/send.ts';

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
      const { answers, events } = await host.play(framework, scenario);
      const exchanges = scenario.steps.filter(isExchange).map(([send, expect, more]) => ({
        send,
        expected: more?.instead?.[family] ?? expect,
      }));
      expect(
        exchanges.map(({ send, expected }, i) => came(send, answers[i] as Answer, expected)),
      ).toEqual(exchanges.map(({ send, expected }) => mustCome(send, expected)));
      expect(events).toEqual((scenario.events ?? []).map((part) => expect.stringContaining(part)));
    });

    for (const { name, except } of scenarios) {
      if (except?.[family] !== undefined) test.skip(`${name}: ${except[family]}`, () => {});
    }
  });
});

/** What a request came to: as much as is looked at. */
function came({ method, path }: Sent, answer: Answer, { status, type, body }: Expected): unknown {
  return {
    request: `${method} ${path}`,
    status: answer.status,
    headers: answer.headers,
    ...(type !== undefined && { type: answer.type }),
    ...(body !== undefined && { body: answer.body }),
    ...(body !== undefined && status >= 400 && { length: answer.length }),
  };
}

function mustCome({ method, path }: Sent, { status, headers, type, body }: Expected): unknown {
  return {
    request: `${method} ${path}`,
    status,
    headers,
    ...(type !== undefined && { type }),
    ...(body !== undefined && { body: method === 'HEAD' ? '' : body }),
    ...(body !== undefined && status >= 400 && { length: Buffer.byteLength(body) }),
  };
}
