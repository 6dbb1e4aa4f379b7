/** The problems of the inputs: one complete count, repeated by every response, because files may change. */

import type { ProblemsAnswer } from "./types";
import { formatFixed } from "../text/numbers";

class Problems {
  #answer: ProblemsAnswer | null = $state.raw(null);
  #load: (() => Promise<ProblemsAnswer>) | null = null;
  #loading = false;
  #header: string | null = null;

  /** Called once, by a component that lives as long as the web UI. */
  begin(load: () => Promise<ProblemsAnswer>): void {
    this.#load = load;
    void this.#again();
  }

  /** Requests the problems again if the count in the header of a response has changed. */
  update(header: string | null): void {
    if (header === null || header === this.#header) return;
    const first = this.#header === null;
    this.#header = header;
    if (!first && !this.#loading) void this.#again();
  }

  async #again(): Promise<void> {
    if (!this.#load) return;
    this.#loading = true;
    try {
      this.#answer = await this.#load();
    } catch {
      // The requests of the view show the error.
    } finally {
      this.#loading = false;
    }
  }

  get count(): number {
    return this.#answer?.count ?? 0;
  }

  /** The kinds of damage with their counts; null if there is none. */
  get damage(): string | null {
    const rows = this.#answer?.rows.filter((row) => row.damage) ?? [];
    return rows.length ? rows.map((row) => `${formatFixed(row.count, 0)} ${row.kind}`).join(", ") : null;
  }
}

export const problems = new Problems();
