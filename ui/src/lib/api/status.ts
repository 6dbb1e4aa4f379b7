/** The verification status of metrics that are not fully verified. */

import { session } from "./session.svelte";

const order = (status: string): number => Number(status !== "verified");

/** A note for a chart with the statuses of its columns; empty if all are verified. */
export function statuses(table: string, columns: string[], seen: (string | null)[] = []): string {
  const all = [...seen, ...(seen.length ? [] : columns.map((name) => session.column(table, name)?.status))];
  const known = [...new Set(all)].filter((status) => status).sort((a, b) => order(a!) - order(b!));
  return known.some((value) => value !== "verified") ? `Status: ${known.join(" or ")}.` : "";
}
