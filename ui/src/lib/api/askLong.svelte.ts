/** Long questions: how far they have come, and a way to end them. */

import { api, ApiError, questionName } from "./api";
import type { Running } from "./answers";

export interface LongQuestion<T> {
  /** The last answer; kept while the next is worked out. */
  readonly value: T | null;
  readonly busy: boolean;
  readonly error: ApiError | null;
  /** How far the server has come, where it can tell. */
  readonly progress: Running | null;
  readonly seconds: number;
  /** Whether the reader ended the last question. */
  readonly ended: boolean;
  cancel(): void;
  again(): void;
}

const TICK_MS = 500;

/**
 * Ask in a component, as `ask` does. `question` is told the name by which the server knows it and has to send
 * it along. `pause`: milliseconds to wait first, so that a slider that is drawn asks once.
 */
export function askLong<T>(
  question: (signal: AbortSignal, id: string) => (() => Promise<T>) | null,
  pause = 0,
): LongQuestion<T> {
  let value = $state.raw<T | null>(null);
  let busy = $state(true);
  let error = $state.raw<ApiError | null>(null);
  let progress = $state.raw<Running | null>(null);
  let seconds = $state(0);
  let ended = $state(false);
  let round = $state(0);
  let stop: AbortController | null = null;

  $effect(() => {
    void round;
    const own = new AbortController();
    const id = questionName();
    const asked = question(own.signal, id);
    stop = own;
    progress = null;
    seconds = 0;
    ended = false;
    if (asked === null) {
      value = null;
      error = null;
      busy = false;
      return;
    }
    busy = true;
    const began = performance.now();
    const tick = setInterval(() => {
      seconds = (performance.now() - began) / 1000;
      void api.running(own.signal).then(
        (answer) => {
          const rows = Array.isArray(answer) ? (answer as Running[]) : answer.running;
          if (!own.signal.aborted) progress = rows.find((one) => one.id === id) ?? null;
        },
        () => undefined,
      );
    }, TICK_MS);
    const done = (): boolean => {
      clearInterval(tick);
      if (own.signal.aborted) return false;
      busy = false;
      return true;
    };
    const timer = setTimeout(() => {
      asked().then(
        (answer) => {
          if (!done()) return;
          value = answer;
          error = null;
        },
        (problem: unknown) => {
          if (!done()) return;
          error = problem instanceof ApiError ? problem : new ApiError(String(problem));
        },
      );
    }, pause);
    return () => {
      clearTimeout(timer);
      clearInterval(tick);
      own.abort();
    };
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
    get progress() {
      return progress;
    },
    get seconds() {
      return seconds;
    },
    get ended() {
      return ended;
    },
    cancel() {
      stop?.abort();
      busy = false;
      ended = true;
    },
    again() {
      round += 1;
    },
  };
}
