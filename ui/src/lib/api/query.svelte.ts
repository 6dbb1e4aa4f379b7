/** Reactive requests: repeated when their dependencies change, and the previous request is canceled. */

import { liveFeed } from "../page/liveFeed.svelte";
import { ApiError, sendLater } from "./api";
import { connection } from "./connection.svelte";
import { placeOf, isOnScreen, type Place } from "./place";

/** The state of a request. */
export class Query<T> {
  /** The last result, retained while the next is computed so that charts do not flicker. */
  value = $state.raw<T | null>(null);
  busy = $state(true);
  error = $state.raw<ApiError | null>(null);
  /** Whether the request waits until the screen has its data. */
  later = $state(false);

  /** Whether something on the screen waits for the result. */
  get awaited(): boolean {
    return this.busy && !this.later;
  }

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
 * null if there is nothing to request. A request for a `place` below or above the screen waits
 * until the screen has its data.
 */
export function createQuery<T>(
  question: (signal: AbortSignal) => Promise<T> | null,
  place: Place | undefined = placeOf(),
): Query<T> {
  const asked = new Query<T>();

  let mounted = $state(false);
  $effect(() => void (mounted = true));
  // Before the page changes, so that the server works while the browser draws.
  $effect.pre(() => {
    if (!mounted) return;
    // Live data are requested again at each revision, and all data after the server was lost.
    void liveFeed.revision;
    void connection.revision;
    const stop = new AbortController();
    asked.later = place !== undefined && !isOnScreen(place);
    if (asked.later) sendLater(stop.signal, () => isOnScreen(place!));
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
