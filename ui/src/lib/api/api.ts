/** What the server answers, and the questions it is asked: /api/v1 and nothing else. */

import { pageWords } from "./wording";

import { problems } from "./problems.svelte";

export type Cell = string | number | boolean | null;
export type Kind = "int" | "float" | "text" | "bool" | "time";

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
  subjects: import("./subjects").Subject[];
  /** The table of LSPR workload hints, as regions of L1MP and RNI. */
  hints?: import("../../views/cpumf/scatter").Hints;
}

export interface SqlAnswer {
  columns: string[];
  types: Kind[];
  rows: Cell[][];
  more: boolean;
  seconds: number;
}

/** What several rows of a column give; the catalog says what each column has: docs/aggregation.md. */
export type Statistic =
  "mean" | "total" | "min" | "max" | "p50" | "p95" | "first" | "last" | "mode" | "count";

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

/** What the server says to a wrong question: what is wrong, what it expected and what to do. */
export class ApiError extends Error {
  readonly expected: string | null;
  readonly cure: string | null;

  constructor(
    message: string,
    expected: string | null = null,
    cure: string | null = null,
    readonly kind = "Error",
    readonly status = 0,
  ) {
    super(pageWords(message));
    this.expected = expected && pageWords(expected);
    this.cure = cure && pageWords(cure);
  }
}

let asked = 0;
/** Two pages in one browser must not cancel each other's questions. */
const page = Math.random().toString(36).slice(2, 10);

/** A name for a question whose progress is to be followed. */
export const questionName = (): string => `${page}-${(asked += 1)}`;

/** A view that was opened has asked its first questions after so many milliseconds. */
const PAUSE_MS = 60;
let open = 0;
/** How many questions are under way, for who waits until the page has all its answers. */
function count(step: number): void {
  open += step;
  document.documentElement.dataset["asking"] = String(open);
}

let patient = 0;
/** Wait until nothing else is being asked: for what takes long, and is not what the reader waits for. */
async function quiet(signal?: AbortSignal): Promise<void> {
  patient += 1;
  count(1);
  try {
    do await new Promise((done) => setTimeout(done, PAUSE_MS));
    while (open > patient && !signal?.aborted);
  } finally {
    patient -= 1;
    count(-1);
  }
}

async function call<T>(path: string, body: object | null, signal?: AbortSignal): Promise<T> {
  const id = (body as { id?: string } | null)?.id ?? questionName();
  const ended = () => void fetch("/api/v1/cancel", post({ id })).catch(() => undefined);
  signal?.addEventListener("abort", ended, { once: true });
  let response: Response;
  count(1);
  try {
    response =
      body === null
        ? await fetch(`/api/v1${path}${path.includes("?") ? "&" : "?"}id=${id}`, { signal })
        : await fetch(`/api/v1${path}`, { ...post({ ...body, id }), signal });
    problems.told(response.headers.get("zlens-problems"));
    const answer: unknown = await response.json();
    if (response.ok) return answer as T;
    const { error } = answer as { error?: Partial<ApiError> };
    throw new ApiError(
      error?.message ?? `the server answers ${response.status}`,
      error?.expected ?? null,
      error?.cure ?? null,
      error?.kind,
      response.status,
    );
  } catch (error) {
    if (error instanceof ApiError || signal?.aborted) throw error;
    throw new ApiError("the server does not answer", null, "is zlens serve still running?", "Network");
  } finally {
    count(-1);
    signal?.removeEventListener("abort", ended);
  }
}

function post(body: object): RequestInit {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

function query(path: string, values: Record<string, Cell | undefined>): string {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined && value !== null) words.set(key, String(value));
  }
  return `${path}?${words}`;
}

export const api = {
  quiet,
  schema: (signal?: AbortSignal) => call<Schema>("/schema", null, signal),
  /** `keep`: columns of measures that are worked out again for every question, to be worked out once; `{guest}`
   * stands for them in the query. */
  sql: (query: string, how: { rows?: number; keep?: Record<string, string[]> } = {}, signal?: AbortSignal) =>
    call<SqlAnswer>("/sql", { query, ...how }, signal),
  /** Columns of a measure by subject and time, each aggregated as the catalog states of it. */
  aggregate: (question: AggregateQuestion, signal?: AbortSignal) =>
    call<AggregateAnswer>("/aggregate", question, signal),
  /** Rows of a measure as they are. */
  rows: (question: Rows & { columns?: string[] }, signal?: AbortSignal) =>
    call<RowsAnswer>("/rows", question, signal),
  explain: (name: string, signal?: AbortSignal) =>
    call<{ name: string; text: string }>(query("/explain", { name }), null, signal),
  /** How many columns of each report have values: decodes everything. */
  reports: (signal?: AbortSignal) =>
    call<{ reports: { name: string; has: number; of: number; state: string }[] }>("/reports", null, signal),
  report: <T>(values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<T>(query("/report", values), null, signal),
  findings: (values: Record<string, Cell | undefined> = {}, signal?: AbortSignal) =>
    call<FindingsAnswer>(query("/findings", values), null, signal),
  evidence: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<Evidence>(query("/evidence", values), null, signal),
  compare: <T>(question: object, signal?: AbortSignal) => call<T>("/compare", question, signal),
  solve: <T>(question: object, signal?: AbortSignal) => call<T>("/solve", question, signal),
  expected: <T>(question: object, signal?: AbortSignal) => call<T>("/expected", question, signal),
  plan: <T>(question: object, signal?: AbortSignal) => call<T>("/plan", question, signal),
  /** What a scenario of a model may say. */
  keys: (model: string, signal?: AbortSignal) =>
    call<{ keys: string }>(query("/model", { model }), null, signal),
  running: (signal?: AbortSignal) => call<{ running: Running[] }>("/running", null, signal),
};
