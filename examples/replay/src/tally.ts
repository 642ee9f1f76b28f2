/** One client of a log, with how many of its requests were denied. */
export interface ClientCount {
  readonly client: string;
  readonly denied: number;
  readonly requests: number;
}

/** Counts what was decided, by client. */
export class Tally {
  #requests = 0;
  #deniedRequests = 0;
  #deniedClients = 0;
  readonly #clients = new Map<string, { requests: number; denied: number }>();

  count(client: string, allowed: boolean): void {
    let counts = this.#clients.get(client);
    if (counts === undefined) {
      counts = { requests: 0, denied: 0 };
      this.#clients.set(client, counts);
    }
    this.#requests += 1;
    counts.requests += 1;
    if (allowed) return;
    this.#deniedRequests += 1;
    if (counts.denied === 0) this.#deniedClients += 1;
    counts.denied += 1;
  }

  get requests(): number {
    return this.#requests;
  }

  get clients(): number {
    return this.#clients.size;
  }

  get deniedRequests(): number {
    return this.#deniedRequests;
  }

  get deniedClients(): number {
    return this.#deniedClients;
  }

  /** The clients that were denied most often, at most `top` of them; of equals, the one that asked for more first. */
  mostDenied(top: number): ClientCount[] {
    return [...this.#clients]
      .filter(([, { denied }]) => denied > 0)
      .map(([client, { denied, requests }]) => ({ client, denied, requests }))
      .sort((a, b) => b.denied - a.denied || b.requests - a.requests || compare(a, b))
      .slice(0, top);
  }
}

function compare(a: ClientCount, b: ClientCount): number {
  return a.client < b.client ? -1 : 1;
}
