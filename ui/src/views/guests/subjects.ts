/** Requests and rows of the table of subjects, as defined in the catalog. */

import type { Pieces, Where, Figure, ConsumerKind } from "../../lib/api/subject";
import type { AggregateAnswer, AggregateQuestion } from "../../lib/api/types";
import type { Cell, Statistic } from "../../lib/api/values";
import { formatPrecise } from "../../lib/text/numbers";

/** The maximum number of points of a subject's sparkline. */
export const BUCKETS = 60;

/** The columns named in texts. */
export function columnsOf(pieces: Pieces): string[] {
  return [...new Set(pieces.flatMap((piece) => [...piece.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)))];
}

/** Fills in a text; null if it is empty. */
export function textOf(pieces: Pieces, value: (column: string) => Cell): string | null {
  const text = pieces
    .map((piece) => {
      if (columnsOf([piece]).some((column) => value(column) === null)) return "";
      return piece.replace(/\{(\w+)\}/g, (_, column: string) => plain(value(column)));
    })
    .join("");
  return text || null;
}

const plain = (value: Cell): string => (typeof value === "number" ? formatPrecise(value) : String(value));

/** Collects the requested statistics of each column. */
export class Wanted {
  readonly columns: Record<string, Statistic[]> = {};

  add(column: string, statistic: Statistic): this {
    const statistics = (this.columns[column] ??= []);
    if (!statistics.includes(statistic)) statistics.push(statistic);
    return this;
  }
}

/** Requests one row per subject, with its values over time. */
export function question(subject: ConsumerKind, where: Where): AggregateQuestion {
  const wanted = new Wanted().add(subject.use_column, "total");
  for (const figure of subject.figure) {
    if (figure.column) wanted.add(figure.column, figure.statistic);
    else for (const column of columnsOf(figure.pieces)) wanted.add(column, "last");
  }
  for (const state of subject.states?.state ?? [])
    for (const column of state.columns) wanted.add(column, "mean");
  const { column, statistic } = subject.series;
  return {
    table: subject.table,
    by: subject.name.map((column) => column.column),
    columns: wanted.columns,
    where,
    series: { column, statistic, buckets: BUCKETS },
    limit: 20_000,
  };
}

/** All columns of the table of subjects: requests for some of them state all, so that they are computed once. */
export const columnsToKeep = (subject: ConsumerKind): string[] => [
  ...new Set([...Object.keys(question(subject, {}).columns), subject.series.column]),
];

/** Returns the rows of a result with access to cells by column name. */
export function rowsOf(answer: AggregateAnswer): ((name: string) => Cell)[] {
  const at = new Map(answer.columns.map((name, place) => [name, place]));
  return answer.rows.map((row) => (name) => {
    const place = at.get(name);
    return place === undefined ? null : (row[place] ?? null);
  });
}

/** The value of a figure in a row. */
export function figureOf(figure: Figure, value: (name: string) => Cell): Cell {
  return figure.column ? value(figure.key) : textOf(figure.pieces, (column) => value(`${column}_last`));
}

/** Assigns values over time to the buckets of the window; null without a value. */
export function resample(
  times: number[],
  values: (number | null)[],
  window: [number, number],
): (number | null)[] {
  const [from, to] = window;
  const wide = Math.max(1e-6, (to - from) / BUCKETS);
  const parts: (number | null)[] = Array.from({ length: BUCKETS }, () => null);
  times.forEach((t, at) => {
    const value = values[at] ?? null;
    if (value === null) return;
    const place = Math.max(0, Math.min(BUCKETS - 1, Math.ceil((t - from) / wide) - 1));
    parts[place] = Math.max(parts[place] ?? -Infinity, value);
  });
  return parts;
}

/** Bridges empty buckets between consecutive intervals, unless an interval is missing. */
export function bridged(values: (number | null)[], gap: number): (number | null)[] {
  const filled = [...values];
  let before = -1;
  values.forEach((value, at) => {
    if (value === null) return;
    if (before >= 0 && at - before > 1 && at - before <= gap) {
      const from = values[before]!;
      for (let n = before + 1; n < at; n += 1)
        filled[n] = from + ((value - from) * (n - before)) / (at - before);
    }
    before = at;
  });
  return filled;
}

/** Returns the maximum number of buckets between consecutive intervals: 1.6 times the usual distance. */
export function step(rows: (number | null)[][]): number {
  const taken = new Set<number>();
  for (const values of rows) values.forEach((value, at) => value !== null && taken.add(at));
  const places = [...taken].sort((a, b) => a - b);
  const steps = places.slice(1).map((at, n) => at - places[n]!);
  if (!steps.length) return 1;
  const usual = steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)]!;
  return Math.ceil(1.6 * usual);
}
