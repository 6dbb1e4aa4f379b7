/** One question has a row per subject over a window; what its table shows, the catalog says. */

import type { Pieces, Where, Figure, Subject } from "../../lib/api/subject";
import type { AggregateAnswer, AggregateQuestion } from "../../lib/api/answers";
import type { Cell, Statistic } from "../../lib/api/values";

/** How many parts of the window the course of a subject has at most. */
export const BUCKETS = 60;

/** Names of columns in texts. */
export function columnsOf(pieces: Pieces): string[] {
  return [...new Set(pieces.flatMap((piece) => [...piece.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)))];
}

/** A text of values; null where none of them is known. */
export function textOf(pieces: Pieces, value: (column: string) => Cell): string | null {
  const text = pieces
    .map((piece) => {
      if (columnsOf([piece]).some((column) => value(column) === null)) return "";
      return piece.replace(/\{(\w+)\}/g, (_, column: string) => plain(value(column)));
    })
    .join("");
  return text || null;
}

/** Six digits of a number tell it apart. */
const plain = (value: Cell): string =>
  typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);

/** Columns with the statistics that are asked for of each. */
export class Wanted {
  readonly columns: Record<string, Statistic[]> = {};

  add(column: string, statistic: Statistic): this {
    const statistics = (this.columns[column] ??= []);
    if (!statistics.includes(statistic)) statistics.push(statistic);
    return this;
  }
}

/** One question: a row for each subject, with its course. */
export function question(subject: Subject, where: Where): AggregateQuestion {
  const wanted = new Wanted().add(subject.spent, "total");
  for (const figure of subject.figure) {
    if (figure.column) wanted.add(figure.column, figure.statistic);
    else for (const column of columnsOf(figure.pieces)) wanted.add(column, "last");
  }
  for (const state of subject.states?.state ?? [])
    for (const column of state.columns) wanted.add(column, "mean");
  const { column, statistic } = subject.course;
  return {
    table: subject.table,
    by: subject.name.map((column) => column.column),
    columns: wanted.columns,
    where,
    course: { column, statistic, buckets: BUCKETS },
    limit: 20_000,
  };
}

/** Rows of an answer, each by the names of its columns. */
export function rowsOf(answer: AggregateAnswer): ((name: string) => Cell)[] {
  const at = new Map(answer.columns.map((name, place) => [name, place]));
  return answer.rows.map((row) => (name) => {
    const place = at.get(name);
    return place === undefined ? null : (row[place] ?? null);
  });
}

/** What a table has of a row. */
export function figureOf(figure: Figure, value: (name: string) => Cell): Cell {
  return figure.column ? value(figure.key) : textOf(figure.pieces, (column) => value(`${column}_last`));
}

/** The values of a course in the parts of the window; null where there is none. */
export function course(
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

/** Few intervals fill few buckets: the line goes over empty ones to the next, as long as no interval is missing. */
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

/** So many buckets may lie between two intervals that follow each other: 1.6 times the usual distance. */
export function step(courses: (number | null)[][]): number {
  const taken = new Set<number>();
  for (const values of courses) values.forEach((value, at) => value !== null && taken.add(at));
  const places = [...taken].sort((a, b) => a - b);
  const steps = places.slice(1).map((at, n) => at - places[n]!);
  if (!steps.length) return 1;
  const usual = steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)]!;
  return Math.ceil(1.6 * usual);
}
