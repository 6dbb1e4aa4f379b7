/** The views by name, as far as one view has to know of another: the list itself is `views/index.ts`. */

import type { Schema } from "../api/api";

export interface Entry {
  id: string;
  title: string;
  shows: (schema: Schema) => boolean;
}

let entries: readonly Entry[] = [];

/** To be told once, by the list of the views. */
export function listed(views: readonly Entry[]): void {
  entries = views;
}

/** What the menu calls a view; null where the menu has none of this name for this input. */
export function titleOf(id: string, schema: Schema | null): string | null {
  const found = entries.find((one) => one.id === id);
  return found && schema && found.shows(schema) ? found.title : null;
}
