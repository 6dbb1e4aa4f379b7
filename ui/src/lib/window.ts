/** Questions about the window that is looked at: buckets of whole intervals, and measures worked out once. */

import { api, type Cell, type SqlAnswer } from "./api";

/** Seconds of a bucket: a whole number of intervals, so that not more than `points` fit into the window. */
export function bucket(window: [number, number], nominal: number | null, points: number): number {
  const step = nominal && nominal > 0 ? nominal : 60;
  const intervals = Math.ceil((window[1] - window[0]) / step - 0.01);
  return Math.max(1, Math.ceil(intervals / Math.max(1, points))) * step;
}

/** SQL: the end of the bucket of a row, seconds UTC. One interval is its own bucket. */
export function bucketEnd(seconds: number, nominal: number | null, time = "interval_end"): string {
  if (seconds <= (nominal ?? 60)) return `epoch(${time})`;
  return `ceil(epoch(${time}) / ${seconds} - 0.001) * ${seconds}`;
}

/** A question as it can be put anywhere: names of measures without the braces of what is kept. */
export const bare = (query: string): string => query.replaceAll(/\{(\w+)\}/g, "$1");

export interface Found {
  /** A column by its name. */
  column(name: string): Cell[];
  numbers(name: string): (number | null)[];
  answer: SqlAnswer;
  /** The question without braces, to be copied. */
  sql: string;
}

/** Ask with measures kept; `{device}` in the query stands for the kept columns of `device`. */
export async function question(
  query: string,
  keep: Record<string, string[]>,
  signal: AbortSignal,
  rows = 20_000,
): Promise<Found> {
  return found(await api.sql(query, { rows, keep }, signal), bare(query));
}

export function found(answer: SqlAnswer, sql: string): Found {
  const column = (name: string): Cell[] => {
    const at = answer.columns.indexOf(name);
    return answer.rows.map((row) => row[at] ?? null);
  };
  return {
    answer,
    sql,
    column,
    numbers: (name) => column(name).map((one) => (typeof one === "number" ? one : null)),
  };
}
