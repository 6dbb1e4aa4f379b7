/** Who uses the processors of a system, as the catalog declares it: virtual machines, service classes, jobs. */

import type { Cell, Kind, Statistic } from "./values";

/** Texts with {column} in them: a piece without one of its values is left out. */
export type Pieces = string[];

export type Where = Record<string, Cell | Cell[]>;

/** A column of the table: a statistic of a column of the measure, or a text of last values. */
export interface Figure {
  key: string;
  heading: string;
  type: Kind;
  unit: string;
  text: string;
  explain: string;
  column: string;
  statistic: Statistic;
  pieces: Pieces;
  decimals: number | null;
  scale: number;
}

export interface Chart {
  name: string;
  title: string;
  unit: string;
  explain: string;
  lines: { column: string; name: string }[];
  note: string;
  most: number | null;
  /** What values are multiplied by for the unit shown. */
  scale: number;
}

/** Rows that may be added to each other. */
export interface Records {
  key: string;
  name: string;
  where: Where;
}

/** Columns that samples are shares of, shown as one. */
export interface State {
  key: string;
  name: string;
  columns: string[];
  waits: boolean;
}

export interface States {
  title: string;
  unit: string;
  explain: string;
  note: string;
  lacks: string;
  state: State[];
}

/** The measure of the parts of a subject. */
export interface Part {
  table: string;
  pieces: Pieces;
  keys: string[];
  chart: Chart;
}

export interface Owners {
  note: string;
  group: { key: string; name: string; pieces: Pieces; none: string }[];
  time: { column: string; name: string; lacks: string }[];
  level: Pieces[];
  by: string[];
  /** Rows that are added; empty: the records that the reader chose. */
  where: Where;
}

export interface Subject {
  table: string;
  /** The view of the page that shows it. */
  view: string;
  sources: string[];
  title: string;
  many: string;
  name: { column: string; heading: string }[];
  /** The column whose total is what was used. */
  spent: string;
  spent_text: string;
  course: { column: string; heading: string; statistic: Statistic };
  figure: Figure[];
  chart: Chart[];
  owners: Owners;
  records: Records[];
  part: Part | null;
  states: States | null;
  expected: string;
}

/** The kinds that a system has: it has one of their sources, and records that the measure is made of. */
export function present(
  subjects: Subject[],
  sources: { source: string }[],
  fills: (table: string) => boolean,
): Subject[] {
  return subjects.filter(
    (subject) => sources.some(({ source }) => subject.sources.includes(source)) && fills(subject.table),
  );
}
