/**
 * The users of a system's processors, as declared in the catalog: virtual machines, service classes, jobs.
 */

import type { Cell, Kind, Statistic } from "./values";

/** Texts with {column} placeholders; a fragment with a missing value is dropped. */
export type Pieces = string[];

export type Where = Record<string, Cell | Cell[]>;

/** A table column: a statistic of a measure's column, or a text of last values. */
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
  /** Factor for the unit shown. */
  scale: number;
}

/** Rows that may be summed. */
export interface Records {
  key: string;
  name: string;
  where: Where;
}

/** Sampled state columns shown as one state. */
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
  missing_note: string;
  state: State[];
}

/** The measure of a subject's parts. */
export interface Part {
  table: string;
  pieces: Pieces;
  keys: string[];
  chart: Chart;
}

export interface Owners {
  note: string;
  group: { key: string; name: string; pieces: Pieces; none: string }[];
  time: { column: string; name: string; missing_note: string }[];
  level: Pieces[];
  by: string[];
  /** The rows to sum; empty for the records that the user selected. */
  where: Where;
}

export interface ConsumerKind {
  table: string;
  /** The view of the subject. */
  view: string;
  sources: string[];
  title: string;
  plural: string;
  name: { column: string; heading: string }[];
  /** The column whose total is the use of the subject. */
  use_column: string;
  use_text: string;
  series: { column: string; heading: string; statistic: Statistic };
  figure: Figure[];
  chart: Chart[];
  owners: Owners;
  records: Records[];
  part: Part | null;
  states: States | null;
  expected: string;
}

/** The kinds a system has: one of their sources is open, and the measure has data. */
export function present(
  subjects: ConsumerKind[],
  sources: { source: string }[],
  fills: (table: string) => boolean,
): ConsumerKind[] {
  return subjects.filter(
    (subject) => sources.some(({ source }) => subject.sources.includes(source)) && fills(subject.table),
  );
}
