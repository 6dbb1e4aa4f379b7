/** The entries hidden in the legend of a chart. */

import { SvelteSet } from "svelte/reactivity";
import type { LegendEntry } from "./props";

export class LegendState {
  readonly #names = new SvelteSet<string>();

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Returns the legend's entries, each hidden or shown by a click. */
  legend(entries: readonly LegendEntry[]): LegendEntry[] {
    return entries.map((entry) => ({
      ...entry,
      hidden: this.has(entry.name),
      toggle: () => {
        if (!this.#names.delete(entry.name)) this.#names.add(entry.name);
      },
    }));
  }

  /** Returns the entries that are not hidden. */
  shown<T extends { name: string }>(entries: readonly T[]): T[] {
    return entries.filter(({ name }) => !this.has(name));
  }

  /** Returns a value; null if its entry is hidden. */
  of<T>(name: string, value: T): T | null {
    return this.has(name) ? null : value;
  }
}
