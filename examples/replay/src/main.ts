import { formatQuota } from '@floodgate/express';
import { type Arguments, readArguments, USAGE, UsageError } from './arguments.ts';
import { linesOf } from './lines.ts';
import { startProgress } from './progress.ts';
import { type Replay, replay } from './replay.ts';
import { badLinesNote, jsonReport, textReport } from './report.ts';
import { openSource, UnreadableError } from './source.ts';

process.exitCode = await main(process.argv.slice(2));

/** Answers the exit code: 1 for a log that cannot be read, 2 for a command line that is wrong. */
async function main(args: readonly string[]): Promise<number> {
  try {
    const given = readArguments(args);
    if (given === 'help') process.stdout.write(USAGE);
    else print(await replayLog(given), given);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof UnreadableError)) throw error;
    const advice = error instanceof UsageError ? 'Try: pnpm replay --help\n' : '';
    process.stderr.write(`${error.message}\n${advice}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

async function replayLog({ file, quota, ipv6Prefix }: Arguments): Promise<Replay> {
  const source = openSource(file);
  const progress = startProgress(source);
  try {
    return await replay(linesOf(source.chunks()), {
      quota,
      ipv6Prefix,
      onLine: progress.show,
      onEvent: ({ message }) => process.stderr.write(`${message}\n`),
    });
  } finally {
    progress.end();
  }
}

function print(replay: Replay, { quota, top, json }: Arguments): void {
  process.stderr.write(badLinesNote(replay.badLines));
  process.stdout.write(
    json
      ? `${JSON.stringify(jsonReport(replay, top))}\n`
      : textReport(replay, formatQuota(quota), top),
  );
}
