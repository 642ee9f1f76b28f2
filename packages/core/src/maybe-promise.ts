/** A value, or a promise of it: a store in this process answers at once, and then so does everything built on it. */
export type MaybePromise<T> = T | Promise<T>;

/** What a function of the user's may answer. */
export type Awaitable<T> = T | PromiseLike<T>;

/** Work that may have to wait: like an `async` function, with `yield* wait(…)` for `await`. See {@link runSteps}. */
export type Steps<T> = Generator<PromiseLike<unknown>, T, unknown>;

export function isPromise<T>(value: Awaitable<T>): value is PromiseLike<T> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/** Goes on with a value: at once where it is there. */
export function andThen<T, U>(
  value: Awaitable<T>,
  next: (value: T) => Awaitable<U>,
): U | Promise<U> {
  return isPromise(value) ? Promise.resolve(value).then(next) : (next(value) as U);
}

/** Waits for a promise; goes straight on with anything else. */
export function* wait<T>(value: Awaitable<T>): Steps<T> {
  return isPromise(value) ? ((yield value) as T) : value;
}

/** Runs steps to their end: at once where they meet no promise. */
export function runSteps<T>(steps: Steps<T>): MaybePromise<T> {
  const step = steps.next();
  return step.done === true ? step.value : resume(steps, step.value);
}

async function resume<T>(steps: Steps<T>, first: PromiseLike<unknown>): Promise<T> {
  let pending = first;
  for (;;) {
    let step: IteratorResult<PromiseLike<unknown>, T>;
    try {
      step = steps.next(await pending);
    } catch (error) {
      // Into the steps, whose own handlers come first; steps that have ended throw it again.
      step = steps.throw(error);
    }
    if (step.done === true) return step.value;
    pending = step.value;
  }
}
