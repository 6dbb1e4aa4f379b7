/** Questions about measures: what is asked of the window, and how the answers are shown in the catalog's words. */

import {
  api,
  type AggregateAnswer,
  type AggregateQuestion,
  type Cell,
  type ColumnInfo,
  type Rows,
  type Statistic,
} from "./api";
import { file } from "./session.svelte";
import { spoken } from "../text/format";
import type { Course, Level, Line } from "../paint/lines";
import { place } from "../page/place.svelte";
import type { TableColumn } from "../../charts/DataTable.svelte";

/** Rows that one answer may have. */
const MOST = 100_000;

/** Seconds of a bucket: a whole number of intervals, so that not more than `points` fit into the window. */
export function bucket(window: [number, number], nominal: number | null, points: number): number {
  const step = nominal && nominal > 0 ? nominal : 60;
  const intervals = Math.ceil((window[1] - window[0]) / step - 0.01);
  return Math.max(1, Math.ceil(intervals / Math.max(1, points))) * step;
}

/** The system and window looked at. */
export const here = (): Pick<Rows, "system" | "from" | "to"> => ({
  system: file.system,
  from: place.from,
  to: place.to,
});

/** An answer whose columns are taken by their names. */
export interface Found {
  columns: string[];
  rows: Cell[][];
  sql: string;
  more: boolean;
  column(name: string): Cell[];
  numbers(name: string): (number | null)[];
}

export function found(answer: Pick<AggregateAnswer, "columns" | "rows" | "sql" | "more">): Found {
  const column = (name: string): Cell[] => {
    const at = answer.columns.indexOf(name);
    return answer.rows.map((row) => row[at] ?? null);
  };
  return {
    columns: answer.columns,
    rows: answer.rows,
    sql: answer.sql,
    more: answer.more,
    column,
    numbers: (name) => column(name).map((one) => (typeof one === "number" ? one : null)),
  };
}

export const measured = async (question: AggregateQuestion, signal?: AbortSignal): Promise<Found> =>
  found(await api.aggregate({ limit: MOST, ...question }, signal));

export interface CourseQuestion extends Omit<AggregateQuestion, "columns"> {
  columns: string[];
  buckets: number;
  /** What is told of a bucket. */
  levels?: Level[];
}

/** Columns over time: a line for each column and value of the first of `by`. */
export async function course(
  { columns, levels = ["min", "max", "p50"], ...question }: CourseQuestion,
  signal?: AbortSignal,
): Promise<Course> {
  // Statistics leave intervals out that are flagged short or gap; each by itself is shown as it is.
  const told: Statistic[] = [...levels, "last"];
  const asked = Object.fromEntries(columns.map((name) => [name, told]));
  const answer = await api.aggregate({ limit: MOST, ...question, columns: asked }, signal);
  return { bucket_s: answer.bucket_s, sql: answer.sql, lines: lines(answer, columns, question.by?.[0]) };
}

export function lines(answer: AggregateAnswer, columns: string[], by?: string): Line[] {
  const at = (name: string): number => answer.columns.indexOf(name);
  const [of, source, t] = [by === undefined ? -1 : at(by), at("source"), at("t")];
  const groups = new Map<string, Cell[][]>();
  for (const row of answer.rows) {
    const key = JSON.stringify([row[of] ?? null, row[source]]);
    const there = groups.get(key);
    if (there) there.push(row);
    else groups.set(key, [row]);
  }
  // Systems that tell of one machine take turns.
  for (const rows of groups.values()) rows.sort((a, b) => Number(a[t]) - Number(b[t]));
  const turned = [...groups.values()].flatMap((rows) =>
    columns.map((column): Line => {
      const values = (what: Statistic): (number | null)[] => {
        const place = at(`${column}_${answer.bucket_s > 0 ? what : "last"}`);
        return place < 0 ? [] : rows.map((row) => (typeof row[place] === "number" ? row[place] : null));
      };
      return {
        by: rows[0]![of] ?? null,
        source: String(rows[0]![source]),
        column,
        t: rows.map((row) => Number(row[t])),
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

/** A column of a table: of the measure, with one of its statistics. */
export interface Shown {
  column: string;
  /** What is told of it; what is usual where it is left out. */
  what?: Statistic;
  decimals?: number;
}

/** What a column gives over time when nothing else is asked for. */
function usual(about: ColumnInfo | undefined): Statistic {
  if (about?.aggregate === "counter" || about?.aggregate === "time") return "total";
  return about?.aggregate === "ratio" || about?.aggregate === "gauge" ? "mean" : "last";
}

const told = (table: string, one: Shown): Statistic => one.what ?? usual(file.column(table, one.column));

export const keyOf = (table: string, one: Shown): string => `${one.column}_${told(table, one)}`;

/** The columns that are asked for, as a question has them. */
export function asked(table: string, shown: Shown[]): Record<string, Statistic[]> {
  const found: Record<string, Statistic[]> = {};
  for (const one of shown) {
    const statistics = (found[one.column] ??= []);
    const what = told(table, one);
    if (!statistics.includes(what)) statistics.push(what);
  }
  return found;
}

const LEADING = ["system", "source", "interval_end", "seconds", "flag"];

/** Some columns, and behind them all others of the measure: a new one is there without being named. */
export function everything(table: string, shown: Shown[]): Shown[] {
  const about = file.table(table);
  const seen = new Set([...LEADING, ...(about?.key ?? []), ...shown.map((one) => one.column)]);
  const rest = (about?.columns ?? []).filter((one) => !seen.has(one.name));
  return [...shown, ...rest.map((one) => ({ column: one.name }))];
}

const SAID: Partial<Record<Statistic, string>> = {
  p50: "median",
  p95: "p95",
  min: "smallest",
  max: "largest",
  count: "intervals",
};

/** A heading: the column's name as people say it, and what is told of it. */
export function heading(column: string, what?: Statistic): string {
  const name = spoken(column);
  const said = what && SAID[what];
  return name[0]!.toUpperCase() + name.slice(1) + (said ? `, ${said}` : "");
}

/** The unit that values are shown in: times of single operations are milliseconds, bytes are megabytes. */
export function unitOf(about: ColumnInfo | undefined): { unit: string | null; times?: number } {
  const single = about?.aggregate === "ratio" || about?.aggregate === "gauge";
  if (about?.unit === "s" && single) return { unit: "ms", times: 1000 };
  if (about?.unit === "bytes/s") return { unit: "MB/s", times: 1e-6 };
  return { unit: about?.unit ?? null };
}

/** Units of the catalog that say nothing to a reader. */
export const WORDS = ["", "count", "index", "ratio"];

/** The columns of a table, in the words of the catalog. */
export function tableColumns(table: string, keys: string[], shown: Shown[]): TableColumn[] {
  const of = (name: string, what?: Statistic, decimals?: number): TableColumn => {
    const about = file.column(table, name);
    const whole = what === "count" || (about?.type === "int" && !["mean", "p50", "p95"].includes(what ?? ""));
    const number = what === "count" || about?.type === "int" || about?.type === "float";
    return {
      key: what ? `${name}_${what}` : name,
      heading: heading(name, what),
      type: whole ? "int" : number ? "float" : (about?.type ?? "text"),
      ...(what === "count" || WORDS.includes(about?.unit ?? "") ? {} : unitOf(about)),
      explain: `${table}.${name}`,
      text: [about?.text ?? name, what ? SAID[what] : null].filter(Boolean).join("; of the intervals: "),
      ...(decimals === undefined ? {} : { decimals }),
    };
  };
  return [
    ...keys.map((name) => of(name)),
    ...shown.map((one) => of(one.column, told(table, one), one.decimals)),
  ];
}

/** Rows with the cells of a table's columns, in their order. */
export function cells(answer: Found | null, columns: TableColumn[]): Cell[][] {
  const places = columns.map((one) => answer?.columns.indexOf(one.key) ?? -1);
  return (answer?.rows ?? []).map((row) => places.map((at) => row[at] ?? null));
}
