/** Questions that follow the page: asked again when what they read changes, the one before cancelled. */

import { ApiError } from "./api";

/** The state of a question. */
export class Asked<T> {
  /** The last answer; kept while the next is worked out, so that charts do not blink. */
  value = $state.raw<T | null>(null);
  busy = $state(true);
  error = $state.raw<ApiError | null>(null);

  /** There is nothing to ask. */
  clear(): void {
    this.value = null;
    this.error = null;
    this.busy = false;
  }

  /** Takes the answer of a question, unless another has been asked meanwhile. */
  settle(answer: Promise<T>, signal: AbortSignal): Promise<void> {
    return answer.then(
      (value) => {
        if (signal.aborted) return;
        this.value = value;
        this.error = null;
        this.busy = false;
      },
      (problem: unknown) => {
        if (signal.aborted) return;
        this.error = problem instanceof ApiError ? problem : new ApiError(String(problem));
        this.busy = false;
      },
    );
  }
}

/**
 * Asks in a component. `question` runs in an effect: what it reads of the page is followed. It may answer null
 * where there is nothing to ask.
 */
export function ask<T>(question: (signal: AbortSignal) => Promise<T> | null): Asked<T> {
  const asked = new Asked<T>();

  $effect(() => {
    const stop = new AbortController();
    const answer = question(stop.signal);
    if (answer === null) {
      asked.clear();
      return;
    }
    asked.busy = true;
    void asked.settle(answer, stop.signal);
    return () => stop.abort();
  });

  return asked;
}
