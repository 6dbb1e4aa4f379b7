/** Requests for measures in the selected window, and their results. */

import { api } from "./api";
import type { AggregateAnswer, AggregateQuestion, Rows } from "./types";
import type { Cell, Statistic } from "./values";
import { session } from "./session.svelte";
import type { TimeSeries, Level, Line } from "./series";
import { route } from "../page/route.svelte";

/** The maximum number of rows of a result. */
const MOST = 100_000;

/** The selected system, source and window. */
export const selection = (): Pick<Rows, "system" | "source" | "from" | "to"> => ({
  ...session.shown,
  from: route.from,
  to: route.to,
});

/** A result with access to columns by name. */
export interface AggregateResult {
  columns: string[];
  rows: Cell[][];
  sql: string;
  more: boolean;
  /** Length of a bucket; 0 if every interval is returned separately. */
  bucket_s: number;
  /** The length of each row in seconds; requires the columns of LENGTHS. */
  lengths(): number[];
  column(name: string): Cell[];
  numbers(name: string): (number | null)[];
}

/** Column and statistic of the length of a row. */
export const LENGTHS: Record<string, Statistic[]> = { seconds: ["last"] };

/** The length of a row whose record does not state it, in seconds. */
const UNKNOWN_LENGTH = 60;

/** Lengths of rows: an interval may be longer than a bucket, if another source has finer intervals. */
const lengthsOf = (seconds: Cell[], bucket_s: number): number[] =>
  seconds.map((length) => Math.max(bucket_s, typeof length === "number" ? length : 0) || UNKNOWN_LENGTH);

export function withColumns(
  answer: Pick<AggregateAnswer, "columns" | "rows" | "sql" | "more"> & Partial<AggregateAnswer>,
): AggregateResult {
  const column = (name: string): Cell[] => {
    const at = answer.columns.indexOf(name);
    return answer.rows.map((row) => row[at] ?? null);
  };
  return {
    columns: answer.columns,
    rows: answer.rows,
    sql: answer.sql,
    more: answer.more,
    bucket_s: answer.bucket_s ?? 0,
    lengths: () => lengthsOf(column("seconds_last"), answer.bucket_s ?? 0),
    column,
    numbers: (name) => column(name).map((value) => (typeof value === "number" ? value : null)),
  };
}

export const fetchAggregate = async (
  question: AggregateQuestion,
  signal?: AbortSignal,
): Promise<AggregateResult> => withColumns(await api.aggregate({ limit: MOST, ...question }, signal));

export interface SeriesRequest extends Omit<AggregateQuestion, "columns"> {
  columns: string[];
  buckets: number;
  /** The statistic of a bucket. */
  levels?: Level[];
  /** Whether lines have the lengths of their intervals. */
  lengths?: boolean;
}

/** Columns over time: one line per column and value of the first column of `by`. */
export async function fetchSeries(
  { columns, levels = ["min", "max", "p50"], lengths = false, ...question }: SeriesRequest,
  signal?: AbortSignal,
): Promise<TimeSeries> {
  const asked = {
    ...Object.fromEntries(columns.map((name) => [name, levels])),
    ...(lengths ? LENGTHS : {}),
  };
  // Statistics skip intervals flagged short or gap; single intervals are shown unchanged.
  const interval_statistics: Statistic[] = ["last"];
  const answer = await api.aggregate(
    { limit: MOST, ...question, columns: asked, interval_statistics },
    signal,
  );
  return { bucket_s: answer.bucket_s, sql: answer.sql, lines: lines(answer, columns, question.by?.[0]) };
}

/** Names of sources in lines: one name for all if each ends before the next one begins. */
function sourceNames(rows: Cell[][], source: number, t: number): Map<Cell, string> {
  const spans = new Map<Cell, [number, number]>();
  for (const row of rows) {
    const [time, name] = [Number(row[t]), row[source] ?? null];
    const [from, to] = spans.get(name) ?? [time, time];
    spans.set(name, [Math.min(from, time), Math.max(to, time)]);
  }
  const order = [...spans.values()].sort((a, b) => a[0] - b[0]);
  const consecutive = order.every(([from], at) => at === 0 || order[at - 1]![1] < from);
  const names = [...spans.keys()].map(String);
  return new Map([...spans.keys()].map((name) => [name, consecutive ? names.join(", ") : String(name)]));
}

export function lines(answer: AggregateAnswer, columns: string[], by?: string): Line[] {
  const at = (name: string): number => answer.columns.indexOf(name);
  const [of, source, t] = [by === undefined ? -1 : at(by), at("source"), at("t")];
  const length = at("seconds_last");
  const named = sourceNames(answer.rows, source, t);
  const groups = new Map<string, Cell[][]>();
  for (const row of answer.rows) {
    const key = JSON.stringify([row[of] ?? null, named.get(row[source] ?? null)]);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  // Several systems may report one machine alternately.
  for (const rows of groups.values()) rows.sort((a, b) => Number(a[t]) - Number(b[t]));
  const turned = [...groups.values()].flatMap((rows) =>
    columns.map((column): Line => {
      const values = (what: Statistic): (number | null)[] => {
        const route = at(`${column}_${answer.bucket_s > 0 ? what : "last"}`);
        return route < 0 ? [] : rows.map((row) => (typeof row[route] === "number" ? row[route] : null));
      };
      return {
        by: rows[0]![of] ?? null,
        source: named.get(rows[0]![source] ?? null)!,
        column,
        t: rows.map((row) => Number(row[t])),
        seconds:
          length < 0
            ? []
            : lengthsOf(
                rows.map((row) => row[length] ?? null),
                answer.bucket_s,
              ),
        min: values("min"),
        max: values("max"),
        p50: values("p50"),
        p95: values("p95"),
      };
    }),
  );
  const order = answer.top;
  return order ? turned.sort((a, b) => order.indexOf(a.by) - order.indexOf(b.by)) : turned;
}
