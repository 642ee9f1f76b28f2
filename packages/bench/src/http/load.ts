import autocannon from 'autocannon';
import type { ServerProcess } from './server-process.ts';

export interface LoadSample {
  readonly requestsPerSecond: number;
  /** The server's processor time for one request, in microseconds. */
  readonly cpuUs: number;
}

/** Asks a server of this machine as often as it answers, for some seconds. */
export async function loadServer(server: ServerProcess, seconds: number): Promise<LoadSample> {
  const beforeUs = await server.cpuUs();
  const result = await autocannon({
    url: server.url,
    connections: CONNECTIONS,
    duration: seconds,
    // However fast it is, it ends.
    maxOverallRequests: MOST_REQUESTS,
  });
  const usedUs = (await server.cpuUs()) - beforeUs;
  const answered = result['2xx'] + result.non2xx;
  if (answered === 0) throw new Error(`${server.input.limiter} answered no request`);
  return { requestsPerSecond: answered / result.duration, cpuUs: usedUs / answered };
}

const CONNECTIONS = 32;
const MOST_REQUESTS = 1_000_000;
