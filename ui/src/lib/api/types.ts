/** The types of /api/v1: requests and responses. */

import type { ConsumerKind } from "./subject";
import type { Cell, Kind, Statistic } from "./values";

export interface SystemInfo {
  system: string;
  source: string;
  lpar: string | null;
  /** Type and serial number, as measures identify the machine. */
  machine: string | null;
  machine_type: string | null;
  model: string | null;
  serial: string | null;
  release: string | null;
  utc_offset_s: number | null;
  local_time: boolean;
  /** Whether its times have a date; otherwise they count from 1970. */
  dated: boolean;
  nominal_s: number | null;
  /** Null in a lake of many systems, which are not read only for this count. */
  intervals: number | null;
  /** Measures that its records provide. */
  fills: string[];
  /** Whether another source of the system has the same data. */
  same: boolean;
  start: string | null;
  end: string | null;
  synthetic: boolean;
  /** Whether a lake retains only rollups by hour and day, at least for a part of its time. */
  forgotten: boolean;
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
  /** The records that provide its rows, in words; empty if not stated. */
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
  /** Position among the reports shown first, from 1; 0 if it is not among them. */
  opening: number;
  /** Columns shown, and columns the original report has. */
  columns: number;
  of: number;
  /** Columns the input may have values for. */
  possible: number;
  /** Whether the input has data for any table the report reads. */
  fills: boolean;
  /** The systems in the report's data. */
  systems: string[];
}

export interface ModelInfo {
  name: string;
  summary: string;
  example: string;
  /** The measures whose rows its scenario is built from; none if it cannot be. */
  needs: string[];
}

/** Parts of the schema: everything about the inputs, and what only some views need. */
export type SchemaPart = "systems" | "tables" | "reports" | "models";

export interface Schema {
  version: string;
  synthetic: boolean;
  inputs: { name: string }[];
  systems: SystemInfo[];
  expected: string[];
  /** Whether the rig has runs. */
  runs: boolean;
  /** Whether the data are live. */
  live?: boolean;
  /** Whether there are too many systems to compute measures of all for one view. */
  wide?: boolean;
  /** Measures of processor users, and how each is shown. */
  subjects: ConsumerKind[];
  /** The LSPR workload hint table as regions of L1MP and RNI. */
  hints?: Hints;
  /** The meaning of the statuses of columns. */
  statuses?: Record<string, string>;
  glossary?: Term[];
}

/** The requested parts. */
export interface SchemaAnswer extends Partial<Schema> {
  tables?: TableInfo[];
  reports?: ReportInfo[];
  models?: ModelInfo[];
}

/** A term and its explanation. */
export interface Term {
  name: string;
  text: string;
  source: string;
  /** The column of a measure named by the term. */
  of: string | null;
}

/** All problems of the inputs, by kind. */
export interface ProblemsAnswer {
  count: number;
  damaged: boolean;
  rows: { kind: string; damage: boolean; count: number; bytes: number; first: string }[];
}

export interface SqlAnswer {
  columns: string[];
  types: Kind[];
  rows: Cell[][];
  more: boolean;
  seconds: number;
}

/** Selects rows of a measure. */
export interface Rows {
  table: string;
  system?: string | null;
  /** The source to show of a system with several sources. */
  source?: string | null;
  where?: Record<string, Cell | Cell[]>;
  from?: number | null;
  to?: number | null;
  order?: string;
  descending?: boolean;
  limit?: number;
}

export interface AggregateQuestion extends Rows {
  /** Columns, or the statistics of each column. */
  columns: string[] | Record<string, Statistic[]>;
  by?: string[];
  /** The maximum number of rows over time. */
  buckets?: number;
  /** The statistics of each column if every bucket is one interval. */
  interval_statistics?: Statistic[];
  /** Adds a column over time to each row. */
  series?: { column: string; statistic: Statistic; buckets: number };
  /** Limits the values of the first column of `by` to this number: the largest in the first column. */
  top?: number;
  /** Columns for later requests, computed together with these. */
  keep?: string[];
}

/** Columns are the keys, `t` if there are buckets, and COLUMN_STATISTIC. */
export interface AggregateAnswer {
  columns: string[];
  rows: Cell[][];
  units: Record<string, string>;
  /** Length of a bucket; 0 if every interval is returned unchanged. */
  bucket_s: number;
  /** The values over time of each row, and their times. */
  series?: (number | null)[][] | null;
  series_t?: number[] | null;
  /** What each share is of, by the name of the share. */
  wholes: Record<string, number | null>;
  /** The values selected by `top`, largest first. */
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

/** A finding, as in `zlens findings --format json`. */
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

/** The findings of some rules. */
export interface FindingsPart {
  rows: Finding[];
  /** The sort key of each finding among the findings of all parts. */
  orders: (string | number)[][];
  /** The rules that were checked, and the systems each applies to; null: all. */
  asked: { rule: string; title: string; systems: string[] | null }[];
  missing: { rule: string; why: string }[];
}

/** The busiest interval of a window, and the subjects that grew with it. Times are seconds UTC. */
/** A value of a column with the records it is computed from. */
export interface ValueOrigin {
  column: string;
  system: string;
  source: string;
  end: number | null;
  subject: Record<string, Cell>;
  value: Cell;
  unit: string;
  formula: string;
  /** Values of the names in the formula that are columns of the same row. */
  inputs: Record<string, Cell>;
  records: {
    table: string;
    file: string;
    offset: number | null;
    time: number | null;
    /** Whether it is the sample before, which the differences are from. */
    before: boolean;
    roles: Record<string, Cell>;
    /** Fields with the place of their bytes in the record. */
    fields: { column: string; value: Cell; difference: Cell; offset: number | null; length: number }[];
    hex: string | null;
    note: string;
  }[];
  more: number;
}

/** Solved lines of busy, and what they assume. */
export interface WithProcessors {
  lines: { name: string; t: number[]; value: number[] }[];
  assumptions: string[];
}

/** A window on one day, with the utilization of its intervals. */
export interface DayOfWindow {
  from: number;
  to: number;
  t: number[];
  value: (number | null)[];
}

export interface Happened {
  /** Null without a complete interval in the window. */
  busiest: {
    explain: string;
    unit: string;
    text: string;
    value: number;
    /** The median of all intervals of the recording. */
    usual: number;
    from: number;
    to: number;
    intervals: number;
  } | null;
  /** The time around it in which utilization is more than half-way up from usual. */
  peak: { from: number; to: number } | null;
  growth: {
    title: string;
    unit: string;
    explain: string;
    view: string;
    rows: {
      subject: string;
      value: number;
      usual: number;
      settings: Record<string, string>;
      events: { t: number; kind: string }[];
    }[];
    /** Number of further subjects that grew. */
    more: number;
  }[];
  events: {
    t: number;
    kind: string;
    subject: string | null;
    detail: string | null;
    inferred: boolean | null;
    view: string | null;
    settings: Record<string, string>;
  }[];
  /** Maximum distance from the peak of events shown, in minutes. */
  minutes: number;
}

/** What differs between a window and the rest of the recording, largest changes first. */
export interface WindowAnswer {
  metrics: {
    title: string;
    value: number;
    usual: number;
    unit: string;
    explain: string;
    view: string | null;
  }[];
  groups: Happened["growth"];
}

/** Metrics that correlate with utilization in a window. */
export interface MovedAnswer {
  rows: {
    title: string;
    correlation: number;
    value: number | null;
    usual: number | null;
    unit: string;
    explain: string;
    view: string | null;
  }[];
  least: number;
  /** The minimum number of intervals for a correlation. */
  fewest: number;
}

/** A part of a sentence of a verdict, and the view that proves it with its settings and window. */
export interface VerdictClause {
  kind: "cause" | "effect" | "meanwhile" | "added" | "what-if" | "checked";
  /** The text between it and the clause before it. */
  before: string;
  text: string;
  view: string | null;
  settings: Record<string, string>;
  from: number | null;
  to: number | null;
}

/** The causes of the findings of a system. */
export interface Verdict {
  system: string;
  text: string;
  sentences: VerdictClause[][];
}

/** The values a rule tested over time for one subject. */
export interface Evidence {
  rule: string;
  unit: string | null;
  /** Of a rule about events: the column whose values before and after them these are. */
  column: string | null;
  sql: string;
  t: number[];
  value: (number | null)[];
  threshold: (number | null)[];
  held: boolean[];
}

/** A chart of a model or of the rig. `places` are names for bars, and numbers along the axis for lines. */
export interface ServerChart {
  title: string;
  kind: "bars" | "lines";
  places: (string | number)[];
  series: { name: string; values: (number | null)[] }[];
  unit: string;
  along: string;
}

/** A system compared with all others; values are percent of its processors. */
export interface FleetSystem {
  system: string;
  source: string;
  machine: string | null;
  sysplex: string | null;
  cluster: string | null;
  release: string | null;
  mean: number | null;
  /** The busiest hour, and its end. */
  busiest: number | null;
  at: string | null;
  /** The mean over the previous span, and the change from it. */
  before: number | null;
  change: number | null;
  /** The growth per month of the busiest hour of a day, and the day on which it reaches the limit. */
  growth: number | null;
  meets: string | null;
  /** The mean of each hour of `t`. */
  series: (number | null)[];
}

/** An amount of an account, part of the last row before it with less depth. */
export interface LedgerRow {
  depth: number;
  level: string;
  account: string;
  title: string;
  text: string;
  subject: string | null;
  cpu_type: string | null;
  amount: number | null;
  status: string;
  meter: string | null;
  transactions: number | null;
  /** The amount of one. */
  per_transaction: number | null;
  node: string | null;
}

export interface Ledger {
  title: string;
  unit: string;
  text: string;
  not_counted: string;
  /** What an input without rows lacks. */
  needs: string;
  /** All ledgers. */
  ledgers: { name: string; title: string }[];
  levels: { name: string; title: string }[];
  rows: LedgerRow[];
  /** Further tables, such as meters and highest hours. */
  tables: ModelAnswer["tables"];
  /** Days of a lake that come from measures by day. */
  notes: string[];
}

export interface Fleet {
  unit: string;
  limit: number;
  /** Ends of hours, seconds since 1970. */
  t: number[];
  systems: FleetSystem[];
}

/** Subjects that members of a cluster have in common: name, total, number of members, each member. */
export interface Common {
  unit: string;
  explain: string;
  rows: (string | number | null)[][];
}

export interface Cluster {
  members: string[];
  volumes: Common;
  guests: Common;
}

/** The partitions of a machine, with the mean of each hour of `t`. */
export interface MachineHours {
  unit: string;
  explain: string;
  /** Ends of hours, seconds since 1970. */
  t: number[];
  partitions: { partition: string; cpu_type: string; mean: number | null; series: (number | null)[] }[];
}

/** A model's answer, as printed by `zlens solve`. */
export interface ModelAnswer {
  model: string;
  title: string;
  figures: { key: string; value: number | null; unit: string; text: string; decimals: number }[];
  tables: {
    key: string;
    title: string;
    /** whole: integers, printed without decimals. */
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
  charts: ServerChart[];
  notes: string[];
  assumptions: { name: string; value: Cell; unit: string; text: string; status: string; source: string }[];
}

/** The results of the rig. */
export interface RigResults {
  version: string;
  date: string;
  scenarios: RigScenario[];
}

export interface RigScenario {
  name: string;
  title: string;
  text: string;
  area: string;
  publication: string;
  place: string;
  status: string;
  passed: boolean;
  /** False after an interrupt. */
  complete: boolean;
  not_reproduced: string | null;
  notes: string[];
  charts: ServerChart[];
  policies: RigPolicy[];
}

/** A policy, or a control with a verdict that must fail. */
export interface RigPolicy {
  name: string;
  control: boolean;
  judged: boolean;
  passed: boolean;
  errors: string[];
  observations: RigObservation[];
  runs: RigRun[];
}

export interface RigObservation {
  name: string;
  unit: string;
  allowed: string;
  of: string;
  /** Whether its numbers are divided by those of one case. */
  relative: boolean;
  /** SQL of interval end, subject and value, run on a run's data; null if it cannot be run. */
  over_time: string | null;
  worst: number | null;
  rms: number | null;
  misallocated: number | null;
  passed: boolean;
  numbers: RigNumber[];
}

export interface RigNumber {
  case: string;
  subject: string;
  expected: number | null;
  low: number | null;
  high: number | null;
  /** The mean over the seeds; half: half of its 95% confidence interval. */
  observed: number | null;
  half: number | null;
  passed: boolean | null;
}

export interface RigRun {
  name: string;
  case: string;
  seed: number;
  error: string | null;
  /** Whether its monitor data can be opened. */
  opens: boolean;
}

export interface Running {
  id: string;
  what: string;
  seconds: number;
  done: number | null;
  of: number | null;
  text: string | null;
}

/** A region of the L1MP and RNI plane; null marks an open end. */
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

/** The description of a name; that of a report is text. */
export interface ExplainedSection {
  title: string;
  text: string;
  facts: { label: string; lines: string[] }[];
  members: Record<string, string>;
  /** A query that reads it. */
  example: string;
}

export interface Explanation {
  name: string;
  text: string;
  sections: ExplainedSection[];
}
