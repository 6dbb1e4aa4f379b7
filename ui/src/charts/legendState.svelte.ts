/** What the legend of a chart hides. */

import { SvelteSet } from "svelte/reactivity";
import type { LegendEntry } from "./props";

export class LegendState {
  readonly #names = new SvelteSet<string>();

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** The entries of a legend; a click hides what one names, and another click shows it again. */
  legend(entries: readonly LegendEntry[]): LegendEntry[] {
    return entries.map((entry) => ({
      ...entry,
      hidden: this.has(entry.name),
      toggle: () => {
        if (!this.#names.delete(entry.name)) this.#names.add(entry.name);
      },
    }));
  }

  /** Those that are not hidden. */
  shown<T extends { name: string }>(entries: readonly T[]): T[] {
    return entries.filter(({ name }) => !this.has(name));
  }

  /** A value, or null where what it belongs to is hidden. */
  of<T>(name: string, value: T): T | null {
    return this.has(name) ? null : value;
  }
}
