import { once } from 'node:events';
import { curl } from './curl.ts';
import { type Ended, startProgram, urlOf } from './program.ts';
import type { Sample } from './sample.ts';

/** What came of running a sample. */
export interface SampleRun extends Ended {
  /** What each of its requests printed. */
  readonly responses: readonly string[];
}

/**
 * Runs a sample, which lies in `folder`, to its end; one that starts a server, until its requests are answered.
 *
 * @param places by name, where Redis servers are that the sample may use, and that are empty
 */
export async function runSample(
  sample: Sample,
  folder: string,
  places: NodeJS.ProcessEnv,
): Promise<SampleRun> {
  // Without what Jest says of a test, where Express would print less.
  const { NODE_ENV, ...env } = process.env;
  const preload = ['--import', urlOf(require.resolve('./sample-preload.ts'))];
  const { process: child, ended } = startProgram([...preload, sample.file], folder, {
    ...env,
    ...places,
    ...timeOf(sample),
  });
  const listening = once(child, 'message').then(([port]) => port as number);
  const port = await Promise.race([listening, ended.then(() => undefined)]);
  const responses: string[] = [];
  if (port !== undefined) {
    try {
      for (const { words } of sample.requests) responses.push(await curl(words.slice(1), port));
    } finally {
      child.kill();
    }
  }
  return { ...(await ended), responses };
}

/** The time that the sample's document shows, for its clock to stand still at. */
function timeOf({ requests }: Sample): { SAMPLE_TIME?: string } {
  const dates = requests.flatMap(({ expected }) => /^Date: (.+)$/m.exec(expected)?.[1] ?? []);
  return dates[0] === undefined ? {} : { SAMPLE_TIME: String(Date.parse(dates[0])) };
}
