/** How well metrics are known, where that is not beyond doubt. */

import { session } from "./session.svelte";

const order = (status: string): number => Number(status !== "verified");

/** A short line for a chart: the statuses of its columns; empty where all are verified. */
export function statuses(table: string, columns: string[], seen: (string | null)[] = []): string {
  const all = [...seen, ...(seen.length ? [] : columns.map((name) => session.column(table, name)?.status))];
  const known = [...new Set(all)].filter((status) => status).sort((a, b) => order(a!) - order(b!));
  return known.some((value) => value !== "verified") ? `Status: ${known.join(" or ")}.` : "";
}
