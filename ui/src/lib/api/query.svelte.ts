/** Reactive questions: asked again when anything they read changes, canceling the previous one. */

import { liveFeed } from "../page/liveFeed.svelte";
import { ApiError } from "./api";

/** The state of a question. */
export class Query<T> {
  /** The last answer, kept while the next is computed so that charts do not flicker. */
  value = $state.raw<T | null>(null);
  busy = $state(true);
  error = $state.raw<ApiError | null>(null);

  /** Resets to having nothing to ask. */
  clear(): void {
    this.value = null;
    this.error = null;
    this.busy = false;
  }

  /** Stores the answer, unless the question was canceled. */
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
 * Asks a question in a component. `question` runs in an effect, which tracks what it reads; it returns null
 * if there is nothing to ask.
 */
export function createQuery<T>(question: (signal: AbortSignal) => Promise<T> | null): Query<T> {
  const asked = new Query<T>();

  $effect(() => {
    // Data that still arrive are asked for again.
    void liveFeed.revision;
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
