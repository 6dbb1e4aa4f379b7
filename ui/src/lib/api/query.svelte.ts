/** Reactive requests: repeated when their dependencies change, and the previous request is canceled. */

import { liveFeed } from "../page/liveFeed.svelte";
import { ApiError } from "./api";
import { connection } from "./connection.svelte";

/** The state of a request. */
export class Query<T> {
  /** The last result, retained while the next is computed so that charts do not flicker. */
  value = $state.raw<T | null>(null);
  busy = $state(true);
  error = $state.raw<ApiError | null>(null);

  /** Resets the state if there is nothing to request. */
  clear(): void {
    this.value = null;
    this.error = null;
    this.busy = false;
  }

  /** Stores the result, unless the request was canceled. */
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
 * Sends a request in a component. `question` runs in an effect, which tracks its dependencies; it returns
 * null if there is nothing to request.
 */
export function createQuery<T>(question: (signal: AbortSignal) => Promise<T> | null): Query<T> {
  const asked = new Query<T>();

  $effect(() => {
    // Live data are requested again at each revision, and all data after the server was lost.
    void liveFeed.revision;
    void connection.revision;
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
