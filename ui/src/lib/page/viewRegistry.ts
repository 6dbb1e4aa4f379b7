/** The names of the views, for links from one view to another; the list itself is `app/views.ts`. */

export interface Entry {
  id: string;
  title: string;
  shows: () => boolean;
}

let entries: readonly Entry[] = [];

/** Called once, by the list of views. */
export function register(views: readonly Entry[]): void {
  entries = views;
}

/** The title of a view in the menu; null if the menu does not show it for this input. */
export function titleOf(id: string): string | null {
  const entry = entries.find((entry) => entry.id === id);
  return entry?.shows() ? entry.title : null;
}
