/** What becomes of an answer that does not come in time. */
export interface Late<T> {
  /** What it is rejected with. */
  readonly lateness: () => Error;
  /** Told of the answer if it comes after that. */
  readonly onLate: (answer: T) => void;
}

/** Waits for an answer, and no longer than so many milliseconds. */
export function inTime<T>(answer: Promise<T>, timeoutMs: number, late: Late<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const giveUp = (): void => {
      isLate = true;
      reject(late.lateness());
    };
    // When the process itself was busy for so long, the answer may be there, and is only not read yet: it is read before
    // what `setImmediate` waits for.
    let immediate: NodeJS.Immediate | undefined;
    const timer = setTimeout(() => {
      immediate = setImmediate(giveUp);
    }, timeoutMs);
    const stop = (): void => {
      clearTimeout(timer);
      clearImmediate(immediate);
    };
    answer
      .then((value) => {
        if (isLate) return late.onLate(value);
        stop();
        resolve(value);
      })
      // If it is late, it was rejected before.
      .catch((error) => {
        stop();
        reject(error);
      });
  });
}
