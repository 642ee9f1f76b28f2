import { type BenchmarkName, readArguments, USAGE } from './arguments.ts';
import { compareDecisions } from './decisions/compare-decisions.ts';
import { compareHttp } from './http/compare-http.ts';
import { compareLoops } from './loop/compare-loops.ts';
import { describeMachine } from './machine.ts';
import { compareMemory } from './memory/compare-memory.ts';
import { printJson, printReport } from './print.ts';
import { endProgress } from './progress.ts';
import type { Report } from './report.ts';

const benchmarks: Record<BenchmarkName, (quick: boolean) => Promise<Report<unknown>>> = {
  store: (quick) => compareDecisions('store', quick),
  limiter: (quick) => compareDecisions('limiter', quick),
  memory: compareMemory,
  loop: compareLoops,
  http: compareHttp,
};

try {
  const { benchmarks: names, json, quick } = readArguments(process.argv.slice(2));
  const machine = describeMachine();
  const reports = new Map<BenchmarkName, Report<unknown>>();
  for (const name of names) {
    const report = await benchmarks[name](quick);
    endProgress();
    reports.set(name, report);
    if (!json) printReport(name, report, machine);
  }
  if (json) printJson(machine, quick, reports);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n${USAGE}\n`);
  process.exitCode = 1;
}
