/** The kinds of subjects that a system has. */

import { file } from "./session.svelte";
import { present, type Subject } from "./subjects";

/** The measures of those that the system looked at has. */
export function kindsOf(sources: { source: string }[], fills: (table: string) => boolean): string[] {
  return subjectsOf(sources, fills).map((one) => one.table);
}

export function subjectsOf(sources: { source: string }[], fills: (table: string) => boolean): Subject[] {
  return present(file.schema?.subjects ?? [], sources, fills);
}
