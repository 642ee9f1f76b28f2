/**
 * The answer of a function in an option: a value, or a promise of it. Where no function answers with a promise, a
 * request is decided without one, in the same turn.
 */
export type Answer<T> = T | PromiseLike<T>;

/** Work that asks on the way. It yields the promises that it meets, and only those, and gets their values back. */
export type Steps<T> = Generator<PromiseLike<unknown>, T, unknown>;

/** Does the steps: now if they meet no promise, else in a promise. */
export function runSteps<T>(steps: Steps<T>): T | Promise<T> {
  const step = steps.next();
  return step.done === true ? step.value : resume(steps, step.value);
}

/** The value of an answer, as a step. */
export function* wait<T>(answer: Answer<T>): Steps<T> {
  return isPromise(answer) ? ((yield answer) as T) : answer;
}

/** `next(answer)`, later if the answer is a promise. */
export function whenAnswered<T, R>(answer: Answer<T>, next: (value: T) => R): R | Promise<R> {
  return isPromise(answer) ? Promise.resolve(answer).then(next) : next(answer);
}

export function isPromise<T>(answer: Answer<T>): answer is PromiseLike<T> {
  return (
    typeof answer === 'object' &&
    answer !== null &&
    'then' in answer &&
    typeof answer.then === 'function'
  );
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
