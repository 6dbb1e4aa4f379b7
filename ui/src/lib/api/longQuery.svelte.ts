/** Long requests with progress and cancellation. */

import type { Running } from "./types";
import { api, questionName } from "./api";
import { Query } from "./query.svelte";

const TICK_MS = 500;

export class LongQuery<T> extends Query<T> {
  /** The server's progress, if it reports any. */
  progress = $state.raw<Running | null>(null);
  seconds = $state(0);
  /** Whether the user canceled the last request. */
  ended = $state(false);
  /** Incremented to repeat the request. */
  repeats = $state(0);
  #stop: AbortController | null = null;

  /** Resets the progress for a new request. */
  begin(stop: AbortController): void {
    this.#stop = stop;
    this.progress = null;
    this.seconds = 0;
    this.ended = false;
  }

  cancel(): void {
    this.#stop?.abort();
    this.busy = false;
    this.ended = true;
  }

  again(): void {
    this.repeats += 1;
  }
}

/**
 * Sends a request in a component, like `createQuery`. `question` must send its `id`, by which the server
 * identifies the request. `pause` delays the request by that many milliseconds, so that dragging a slider
 * sends only one.
 */
export function longQuery<T>(
  question: (signal: AbortSignal, id: string) => (() => Promise<T>) | null,
  pause = 0,
): LongQuery<T> {
  const asked = new LongQuery<T>();

  $effect(() => {
    void asked.repeats;
    const stop = new AbortController();
    const { signal } = stop;
    const id = questionName();
    const start = question(signal, id);
    asked.begin(stop);
    if (start === null) {
      asked.clear();
      return;
    }
    asked.busy = true;
    const began = performance.now();
    const tick = setInterval(() => {
      asked.seconds = (performance.now() - began) / 1000;
      void api.running(signal).then(
        (running) => {
          if (!signal.aborted) asked.progress = running.find((question) => question.id === id) ?? null;
        },
        () => undefined,
      );
    }, TICK_MS);
    const timer = setTimeout(() => {
      void asked.settle(start(), signal).finally(() => clearInterval(tick));
    }, pause);
    return () => {
      clearTimeout(timer);
      clearInterval(tick);
      stop.abort();
    };
  });

  return asked;
}
