/** What the server is asked and what it answers: the types of /api/v1. */

import type { Subject } from "./subject";
import type { Cell, Kind, Statistic } from "./values";

export interface SystemInfo {
  system: string;
  source: string;
  lpar: string | null;
  /** Type and serial, as the tables of machines name it. */
  machine: string | null;
  machine_type: string | null;
  model: string | null;
  serial: string | null;
  release: string | null;
  utc_offset_s: number | null;
  local_time: boolean;
  nominal_s: number | null;
  intervals: number;
  /** Measures that its records are made into. */
  fills: string[];
  start: string | null;
  end: string | null;
  made: boolean;
}

export interface ColumnInfo {
  name: string;
  type: Kind;
  unit: string | null;
  text: string | null;
  status: string | null;
  aggregate: string | null;
  formula: string | null;
  scope: string | null;
}

export interface TableInfo {
  name: string;
  kind: "measure" | "raw" | "role";
  text: string;
  key: string[];
  /** What gives its rows, in words; empty where that is not said. */
  records?: string;
  fills: boolean;
  columns: ColumnInfo[];
}

export interface ReportInfo {
  name: string;
  fcx: string | null;
  title: string;
  group: string;
  heading: string;
  /** Columns that are shown, and those that are known of the report. */
  columns: number;
  of: number;
  /** Columns whose measures the input has anything for. */
  possible: number;
  /** Whether the input has anything of a table that the report reads. */
  fills: boolean;
}

export interface ModelInfo {
  name: string;
  summary: string;
  example: string;
}

export interface Schema {
  version: string;
  made: boolean;
  inputs: { name: string }[];
  systems: SystemInfo[];
  tables: TableInfo[];
  reports: ReportInfo[];
  models: ModelInfo[];
  expected: string[];
  /** Measures of who uses the processors, and how each is shown. */
  subjects: Subject[];
  /** The table of LSPR workload hints, as regions of L1MP and RNI. */
  hints?: Hints;
}

export interface SqlAnswer {
  columns: string[];
  types: Kind[];
  rows: Cell[][];
  more: boolean;
  seconds: number;
}

/** The rows of a measure that a question is about. */
export interface Rows {
  table: string;
  system?: string | null;
  where?: Record<string, Cell | Cell[]>;
  from?: number | null;
  to?: number | null;
  order?: string;
  descending?: boolean;
  limit?: number;
}

export interface AggregateQuestion extends Rows {
  /** Columns, or for each of them its statistics. */
  columns: string[] | Record<string, Statistic[]>;
  by?: string[];
  /** Rows over time, at most so many. */
  buckets?: number;
  /** A column over time beside each row. */
  course?: { column: string; statistic: Statistic; buckets: number };
  /** Only so many values of the first of `by`: the largest of the first column. */
  top?: number;
  /** Columns that other questions will be about, worked out at once with those of this one. */
  keep?: string[];
}

/** Columns are the keys, `t` where there are buckets, and COLUMN_STATISTIC. */
export interface AggregateAnswer {
  columns: string[];
  rows: Cell[][];
  units: Record<string, string>;
  /** Length of a bucket; 0: every interval as it is. */
  bucket_s: number;
  /** Of each row the values of its course, and their times. */
  courses?: (number | null)[][] | null;
  course_t?: number[] | null;
  /** The values that `top` chose, largest first. */
  top: Cell[] | null;
  sql: string;
  more: boolean;
}

export interface RowsAnswer {
  columns: string[];
  types: Kind[];
  rows: Cell[][];
  sql: string;
  more: boolean;
}

/** A finding as `zlens findings --format json` gives it. */
export interface Finding {
  rule: string;
  severity: "crit" | "warn" | "info";
  class: string;
  kind: string;
  area: string;
  title: string;
  system: string | null;
  data: string | null;
  subject: string | null;
  value: number | null;
  unit: string | null;
  threshold: number | null;
  limit: string;
  detail: string | null;
  from: string | null;
  to: string | null;
  worst: string | null;
  intervals: number;
  tested: number;
  mean: number | null;
  baseline: number | null;
  condition: string;
  meaning: string;
  action: string;
  source: string;
  guard: string | null;
  disagrees: string[];
}

export interface FindingsAnswer {
  rows: Finding[];
  asked: number;
  missing: { rule: string; why: string }[];
}

/** What a rule looked at over time for one subject. */
export interface Evidence {
  rule: string;
  unit: string | null;
  sql: string;
  t: number[];
  value: (number | null)[];
  threshold: (number | null)[];
  held: boolean[];
}

/** An answer of a model: what `zlens solve` prints. */
export interface ModelAnswer {
  model: string;
  title: string;
  figures: { key: string; value: number | null; unit: string; text: string; decimals: number }[];
  tables: {
    key: string;
    title: string;
    /** whole: its numbers are whole ones, which are printed without decimals. */
    columns: {
      key: string;
      heading: string;
      unit: string;
      text: string;
      decimals: number;
      whole?: boolean;
    }[];
    rows: Cell[][];
  }[];
  charts: {
    title: string;
    kind: "bars" | "lines";
    places: (string | number)[];
    series: { name: string; values: (number | null)[] }[];
    unit: string;
    along: string;
  }[];
  notes: string[];
  assumptions: { name: string; value: Cell; unit: string; text: string; status: string; source: string }[];
}

export interface Running {
  id: string;
  what: string;
  seconds: number;
  done: number | null;
  of: number | null;
  text: string | null;
}

/** A part of the plane of L1MP and RNI; an open end is null. */
export interface HintRegion {
  category: string;
  l1mp: [number | null, number | null];
  rni: [number | null, number | null];
}

export interface Hints {
  status: string;
  source: string;
  note: string;
  generations: string[];
  regions: HintRegion[];
}
