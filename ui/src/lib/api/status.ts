/** The verification status of metrics that are not fully verified. */

import { sentence } from "../text/names";
import { session } from "./session.svelte";

/** A note for a chart with the statuses of its columns and their meaning; empty if all are verified. */
export function statuses(table: string, columns: string[], seen: (string | null)[] = []): string {
  const all = [...seen, ...(seen.length ? [] : columns.map((name) => session.column(table, name)?.status))];
  const open = [...new Set(all)].filter((status) => status && status !== "verified");
  return open
    .map((status) => `${sentence(status!)}: ${session.schema?.statuses?.[status!] ?? "?"}.`)
    .join(" ");
}
