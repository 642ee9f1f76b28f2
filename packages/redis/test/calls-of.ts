import type { RedisServer } from '@floodgate/test-redis';

/** How often a command was run since `CONFIG RESETSTAT`. */
export async function callsOf(server: RedisServer, command: string): Promise<number> {
  const stats = String(await server.command('INFO', 'commandstats'));
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}
