/** Tables of measures: the requested columns, and their names and formats in the catalog. */

import type { AggregateResult } from "./measures";
import type { Cell, Kind, Statistic } from "./values";
import {
  NO_VALUE,
  formatColumn,
  formatColumnExact,
  formatFixed,
  formatPrecise,
  shownUnit,
} from "../text/numbers";
import type { ColumnInfo } from "./types";
import { session } from "./session.svelte";
import { columnLabel } from "../text/names";

export interface TableColumn {
  key: string;
  heading: string;
  type: Kind;
  unit?: string | null;
  /** The statistic, shown next to the unit unless the heading names it. */
  statistic?: Statistic | null;
  /** The name to pass to `zlens explain`. */
  explain?: string | null;
  text?: string | null;
  /** Factor for the unit shown; copies for programs have the original values. */
  times?: number;
  /** A fixed number of decimals, instead of one derived from the values. */
  decimals?: number;
  /** Whether numbers have the digits that `zlens sql` prints, instead of those of tables. */
  exact?: boolean;
  /** Custom formatting, which also gets the row's index. */
  show?: (value: Cell, row: number) => string;
}

/** Formats the cells of a column. */
export function printed(
  column: TableColumn,
  values: Cell[],
  time: (iso: string, row: number) => string,
): string[] {
  const { show, times = 1, decimals, exact } = column;
  if (show) return values.map((value, row) => (value === null ? NO_VALUE : show(value, row)));
  if (column.type === "float" && decimals === undefined) {
    const numbers = values.map((value) => (typeof value === "number" ? value * times : null));
    return exact ? formatColumnExact(numbers) : formatColumn(numbers, column.unit);
  }
  return values.map((value, row) => {
    if (value === null) return NO_VALUE;
    if (typeof value === "string") return column.type === "time" ? time(value, row) : value;
    if (exact) return String(value);
    if (typeof value === "boolean") return value ? "yes" : "no";
    return decimals === undefined ? formatPrecise(value) : formatFixed(value * times, decimals);
  });
}

/** A column of a measure with one of its statistics. */
export interface Shown {
  column: string;
  /** The statistic; the usual one by default. */
  what?: Statistic;
}

/** The usual statistic of a column over time. */
function usual(about: ColumnInfo | undefined): Statistic {
  if (about?.aggregate === "counter" || about?.aggregate === "time") return "total";
  return about?.aggregate === "ratio" || about?.aggregate === "gauge" ? "mean" : "last";
}

export const statisticOf = (table: string, shown: Shown): Statistic =>
  shown.what ?? usual(session.column(table, shown.column));

export const keyOf = (table: string, shown: Shown): string => `${shown.column}_${statisticOf(table, shown)}`;

/** The columns and statistics to request. */
export function asked(table: string, shown: Shown[]): Record<string, Statistic[]> {
  const question: Record<string, Statistic[]> = {};
  for (const column of shown) {
    const statistics = (question[column.column] ??= []);
    const what = statisticOf(table, column);
    if (!statistics.includes(what)) statistics.push(what);
  }
  return question;
}

/** Columns of every measure that identify the interval and its length. */
export const LEADING = ["system", "source", "interval_end", "seconds", "flag"];

/**
 * The given columns followed by all others of the measure, so that new columns appear without being listed.
 */
export function everything(table: string, shown: Shown[]): Shown[] {
  const about = session.table(table);
  const seen = new Set([...LEADING, ...(about?.key ?? []), ...shown.map((column) => column.column)]);
  const rest = (about?.columns ?? []).filter((column) => !seen.has(column.name));
  return [...shown, ...rest.map((column) => ({ column: column.name }))];
}

const SAID: Partial<Record<Statistic, string>> = {
  p50: "median",
  p95: "p95",
  min: "min",
  max: "max",
  count: "intervals",
};

/** A heading: the label of the column, and its statistic. */
const heading = (column: string, what?: Statistic): string =>
  [columnLabel(column), what && SAID[what]].filter(Boolean).join(", ");

/** The statistic of a number, if the heading does not name it. */
export const besideUnit = (what: Statistic | undefined, number: boolean): { statistic?: Statistic } =>
  number && (what === "mean" || what === "total") ? { statistic: what } : {};

/** The unit shown: milliseconds for times of single operations, megabytes for bytes. */
export function unitOf(about: ColumnInfo | undefined): { unit: string | null; times?: number } {
  const single = about?.aggregate === "ratio" || about?.aggregate === "gauge";
  if (about?.unit === "s" && single) return { unit: "ms", times: 1000 };
  if (about?.unit === "bytes/s") return { unit: "MB/s", times: 1e-6 };
  return { unit: about?.unit ?? null };
}

/** Table columns as described in the catalog. */
export function tableColumns(table: string, keys: string[], shown: Shown[]): TableColumn[] {
  const of = (name: string, what?: Statistic): TableColumn => {
    const about = session.column(table, name);
    const integer =
      what === "count" || (about?.type === "int" && !["mean", "p50", "p95"].includes(what ?? ""));
    const number = what === "count" || about?.type === "int" || about?.type === "float";
    return {
      key: what ? `${name}_${what}` : name,
      heading: heading(name, what),
      type: integer ? "int" : number ? "float" : (about?.type ?? "text"),
      ...(what === "count" || !shownUnit(about?.unit) ? {} : unitOf(about)),
      ...besideUnit(what, number),
      explain: `${table}.${name}`,
      text: [about?.text ?? name, what ? SAID[what] : null].filter(Boolean).join("; of the intervals: "),
    };
  };
  return [
    ...keys.map((name) => of(name)),
    ...shown.map((column) => of(column.column, statisticOf(table, column))),
  ];
}

/** The cells of the given columns, row by row. */
export function cells(answer: AggregateResult | null, columns: TableColumn[]): Cell[][] {
  const places = columns.map((column) => answer?.columns.indexOf(column.key) ?? -1);
  return (answer?.rows ?? []).map((row) => places.map((at) => row[at] ?? null));
}
