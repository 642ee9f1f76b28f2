/** The time that the log says it is. Who sleeps by it is awake at once, and it adds up for how long they would have. */
export class LogClock {
  #nowMs = 0;
  #sleptMs = 0;

  now(): number {
    return this.#nowMs;
  }

  set(nowMs: number): void {
    this.#nowMs = nowMs;
  }

  async sleep(ms: number): Promise<void> {
    this.#sleptMs += ms;
  }

  get sleptMs(): number {
    return this.#sleptMs;
  }
}
