/** Long questions: how far they have come, and a way to end them. */

import type { Running } from "./answers";
import { api, questionName } from "./api";
import { Asked } from "./ask.svelte";

const TICK_MS = 500;

export class LongQuestion<T> extends Asked<T> {
  /** How far the server has come, where it can tell. */
  progress = $state.raw<Running | null>(null);
  seconds = $state(0);
  /** Whether the reader ended the last question. */
  ended = $state(false);
  /** Counts how often the reader asked again. */
  round = $state(0);
  #stop: AbortController | null = null;

  /** Begins a question: nothing is known of its progress. */
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
    this.round += 1;
  }
}

/**
 * Asks in a component, as `ask` does. `question` gets the name by which the server knows it and has to send it
 * along. `pause`: milliseconds to wait first, so that a slider that is drawn asks once.
 */
export function askLong<T>(
  question: (signal: AbortSignal, id: string) => (() => Promise<T>) | null,
  pause = 0,
): LongQuestion<T> {
  const asked = new LongQuestion<T>();

  $effect(() => {
    void asked.round;
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
