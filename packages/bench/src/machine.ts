import { cpus, loadavg } from 'node:os';

/** On what the figures were taken: without it they say little. */
export interface Machine {
  readonly node: string;
  readonly v8: string;
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  /** How many programs wanted a core in the last minute: above `cores`, the figures are those of a busy machine. */
  readonly load: number;
}

export function describeMachine(): Machine {
  const all = cpus();
  return {
    node: process.version,
    v8: process.versions.v8,
    platform: `${process.platform} ${process.arch}`,
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    load: Math.round((loadavg()[0] as number) * 10) / 10,
  };
}
