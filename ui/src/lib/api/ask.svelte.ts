/** Questions that follow the place: asked again when what they read changes, the one before cancelled. */

import { ApiError } from "./api";

export interface Asked<T> {
  /** The last answer; kept while the next is worked out, so that charts do not blink. */
  readonly value: T | null;
  readonly busy: boolean;
  readonly error: ApiError | null;
}

/**
 * Ask in a component. `question` runs in an effect: what it reads of the place is followed. It may answer null
 * where there is nothing to ask.
 */
export function ask<T>(question: (signal: AbortSignal) => Promise<T> | null): Asked<T> {
  let value = $state.raw<T | null>(null);
  let busy = $state(true);
  let error = $state.raw<ApiError | null>(null);

  $effect(() => {
    const stop = new AbortController();
    const asked = question(stop.signal);
    if (asked === null) {
      value = null;
      error = null;
      busy = false;
      return;
    }
    busy = true;
    asked.then(
      (answer) => {
        if (stop.signal.aborted) return;
        value = answer;
        error = null;
        busy = false;
      },
      (problem: unknown) => {
        if (stop.signal.aborted) return;
        error = problem instanceof ApiError ? problem : new ApiError(String(problem));
        busy = false;
      },
    );
    return () => stop.abort();
  });

  return {
    get value() {
      return value;
    },
    get busy() {
      return busy;
    },
    get error() {
      return error;
    },
  };
}
