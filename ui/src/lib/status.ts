/** How well metrics are known, where that is not beyond doubt. */

import { file } from "./file.svelte";

/** A short line for a chart: the statuses of its columns that are not `verified`; empty where all are. */
export function statuses(table: string, columns: string[], seen: (string | null)[] = []): string {
  const all = [...seen, ...(seen.length ? [] : columns.map((name) => file.column(table, name)?.status))];
  const doubtful = [...new Set(all)].filter((one) => one && one !== "verified");
  return doubtful.length ? `Status: ${doubtful.join(", ")}.` : "";
}
