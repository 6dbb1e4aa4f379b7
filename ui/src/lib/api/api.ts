/** Client for /api/v1. */

import type { Cell } from "./values";
import type {
  Cluster,
  SchemaAnswer,
  SchemaPart,
  DayOfWindow,
  ProblemsAnswer,
  SqlAnswer,
  Verdict,
  Rows,
  AggregateQuestion,
  AggregateAnswer,
  RowsAnswer,
  FindingsPart,
  Fleet,
  Evidence,
  Explanation,
  Happened,
  Ledger,
  MachineHours,
  ModelAnswer,
  MovedAnswer,
  RigObservation,
  RigResults,
  Running,
  WindowAnswer,
  ValueOrigin,
  WithProcessors,
} from "./types";

import { route } from "../page/route.svelte";
import { connection } from "./connection.svelte";
import { problems } from "./problems.svelte";

/** An error from the server: what is wrong, what was expected, and the fix. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly expected: string | null = null,
    readonly cure: string | null = null,
    readonly kind = "Error",
    readonly status = 0,
    /** The byte offset of the error in the UTF-8 text of the query. */
    readonly position: number | null = null,
  ) {
    super(message);
  }
}

/** The API, relative to the address of the web UI: a proxy may serve both below a path. */
const ROOT = "api/v1";
let asked = 0;
/** Prevents two windows of one browser from canceling each other's requests. */
const page = Math.random().toString(36).slice(2, 10);

/** Returns a name that identifies a request, for its progress. */
export const questionName = (): string => `${page}-${(asked += 1)}`;

/** Time after which an opened view has sent its first requests. */
const PAUSE_MS = 60;
/** Time after which a window that has its data is not being changed further, and how often that is checked. */
const REST_MS = 150;
const CHECK_MS = 30;
let open = 0;
/** Counts the pending requests, for anything that waits until none is left. */
function count(step: number): void {
  open += step;
  document.documentElement.dataset["asking"] = String(open);
}

/** How many of these are for what is not on the screen, and how many are patient. */
let behind = 0;
let patient = 0;
/** Whether what a request is for is on the screen, by the signal of the request. */
const places = new WeakMap<AbortSignal, () => boolean>();

/** Has requests with this signal wait until those for the screen have ended, or until they are for the screen. */
export const sendLater = (signal: AbortSignal, onScreen: () => boolean): void =>
  void places.set(signal, onScreen);

/** When a request for the screen was pending last. */
let lastPending = 0;
/** Whether no request for the screen has been pending for some time. */
function screenRests(): boolean {
  const now = performance.now();
  if (open > patient + behind) lastPending = now;
  return now - lastPending >= REST_MS;
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** Waits until no other request is pending. For slow requests with results that are not urgent. */
async function quiet(signal?: AbortSignal): Promise<void> {
  patient += 1;
  count(1);
  try {
    do await pause(PAUSE_MS);
    while (open > patient && !signal?.aborted);
  } finally {
    patient -= 1;
    count(-1);
  }
}

/**
 * Calls an endpoint, and `take` with its response. No endpoint changes data, so a request without a response
 * is sent again as soon as the server responds.
 */
async function call<T>(
  path: string,
  body: object | null,
  signal?: AbortSignal,
  take: (response: Response) => Promise<T> = (response) => response.json() as Promise<T>,
): Promise<T> {
  const onScreen = signal && places.get(signal);
  count(1);
  if (onScreen) behind += 1;
  try {
    if (onScreen) {
      lastPending = performance.now();
      do await pause(CHECK_MS);
      while (!screenRests() && !onScreen() && !signal.aborted);
      signal.throwIfAborted();
    }
    return await send(path, body, signal, take);
  } finally {
    if (onScreen) behind -= 1;
    count(-1);
  }
}

/** Sends a request, named so that it can be canceled. */
async function send<T>(
  path: string,
  body: object | null,
  signal: AbortSignal | undefined,
  take: (response: Response) => Promise<T>,
): Promise<T> {
  // Without a name, which only a cancellation needs, the browser can revalidate an earlier response.
  const id = (body as { id?: string } | null)?.id ?? (body || signal ? questionName() : null);
  const ended = () => void fetch(`${ROOT}/cancel`, post({ id })).catch(() => undefined);
  signal?.addEventListener("abort", ended, { once: true });
  // A request may name its own run.
  const run: Record<string, string> = route.run === null ? {} : { run: route.run };
  const words = String(new URLSearchParams({ ...(id === null ? {} : { id }), ...run }));
  try {
    for (;;) {
      try {
        const response =
          body === null
            ? await fetch(`${ROOT}${path}${words && (path.includes("?") ? "&" : "?") + words}`, { signal })
            : await fetch(`${ROOT}${path}`, { ...post({ ...run, ...body, id }), signal });
        problems.update(response.headers.get("zlens-problems"));
        if (response.ok) return await take(response);
        throw errorOf(await response.json(), response.status);
      } catch (error) {
        if (error instanceof ApiError || signal?.aborted) throw error;
        // Sent again, the request of a server that is there would fail for the same reason.
        if (connection.lost === null && (await connection.responds()))
          throw new ApiError("the response was cut, or is not zlens'", null, "Try again.", "Network");
        await connection.restored();
        if (signal?.aborted) throw error;
      }
    }
  } finally {
    signal?.removeEventListener("abort", ended);
  }
}

function errorOf(answer: unknown, status: number): ApiError {
  const { error } = answer as { error?: Partial<ApiError> };
  return new ApiError(
    error?.message ?? `the server answers ${status}`,
    error?.expected ?? null,
    error?.cure ?? null,
    error?.kind,
    status,
    error?.position ?? null,
  );
}

/** Yields the lines of a response as they arrive, each an object. */
export async function* linesOf<T>(body: ReadableStream<Uint8Array>): AsyncGenerator<T> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line) as T;
  }
}

/** Calls an endpoint that responds line by line; `take` gets each line as it arrives. */
const stream = <T extends object>(
  path: string,
  take: (line: T) => void,
  signal?: AbortSignal,
): Promise<void> =>
  call(path, null, signal, async (response) => {
    for await (const line of linesOf<T>(response.body!)) {
      if ("error" in line) throw errorOf(line, response.status);
      take(line);
    }
  });

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
  /** Parts of the schema, with these of its tables, or with all. */
  schema: (parts: SchemaPart[], tables: string[] | null) =>
    call<SchemaAnswer>(query("/schema", { parts: parts.join(), tables: tables?.join() || undefined }), null),
  /** All problems of the inputs; the server decodes everything once. */
  problems: (signal?: AbortSignal) => call<ProblemsAnswer>("/problems", null, signal),
  /**
   * `keep`: columns of measures that are otherwise recomputed by every query; `{guest}` represents them in
   * the query.
   */
  sql: (query: string, how: { rows?: number; keep?: Record<string, string[]> } = {}, signal?: AbortSignal) =>
    call<SqlAnswer>("/sql", { query, ...how }, signal),
  /** All rows of a query as a file. */
  exported: (query: string, form: "csv" | "parquet", signal?: AbortSignal) =>
    call<Blob>("/export", { query, form }, signal, (response) => response.blob()),
  /** Columns of a measure by subject and time, aggregated as the catalog defines. */
  aggregate: (question: AggregateQuestion, signal?: AbortSignal) =>
    call<AggregateAnswer>("/aggregate", question, signal),
  /** Rows of a measure, not aggregated. */
  rows: (question: Rows & { columns?: string[] }, signal?: AbortSignal) =>
    call<RowsAnswer>("/rows", question, signal),
  explain: (name: string, signal?: AbortSignal) =>
    call<Explanation>(query("/explain", { name }), null, signal),
  /** A value of a column with the bytes of its records: that of the time `at`, or the largest in the window. */
  origin: (
    question: {
      column: string;
      system: string;
      source: string | null;
      of: Record<string, string>;
      at?: string;
      from?: number | null;
      to?: number | null;
    },
    signal?: AbortSignal,
  ) => call<ValueOrigin>("/origin", question, signal),
  /** Counts the columns of each report that have values; decodes everything. */
  reports: (signal?: AbortSignal) =>
    call<{ reports: { name: string; has: number; of: number; state: string }[] }>("/reports", null, signal),
  report: <T>(values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<T>(query("/report", values), null, signal),
  /** The findings of a system, or of all systems, by groups of rules: the fastest rules first. */
  findings: (
    of: { system: string | null; source: string | null },
    take: (part: FindingsPart) => void,
    signal?: AbortSignal,
    /** Returns no findings if there are too many systems. */
    few = false,
  ) => stream(query("/findings/stream", { ...of, few: few || null }), take, signal),
  /** The ends of a system's intervals, in runs of first, step and count. */
  intervals: (system: string, signal?: AbortSignal) =>
    call<{ runs: [number, number, number][] }>(query("/intervals", { system }), null, signal),
  /** The window that a text means; `lenient`: null for other texts instead of an error. */
  window: (
    values: { text: string; system: string; near?: number | null; lenient?: boolean },
    signal?: AbortSignal,
  ) =>
    call<{ from: number | null; to: number | null }>(
      query("/window", { ...values, text: values.text.trim() }),
      null,
      signal,
    ),
  /** A window and the same hours of other days, with utilization over time; none if there are no other days. */
  days: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<{ column: string; days: DayOfWindow[] }>(query("/days", values), null, signal),
  happened: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<Happened>(query("/peak", values), null, signal),
  verdict: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<Verdict>(query("/verdict", values), null, signal),
  /** All systems over a span. */
  fleet: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<Fleet>(query("/fleet", values), null, signal),
  /** A ledger: what a machine used, divided into accounts. */
  ledger: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<Ledger>(query("/ledger", values), null, signal),
  /** Subjects that the members of a cluster have in common. */
  cluster: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<Cluster>(query("/cluster", values), null, signal),
  /** The partitions of a machine by hour. */
  machine: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<MachineHours>(query("/machine", values), null, signal),
  /** Growth and months of all systems by shift. */
  trend: (shifts: string, signal?: AbortSignal) =>
    call<{ answer: ModelAnswer }>(query("/trend", { shifts }), null, signal),
  /** Metrics and subjects that differ between a window and the rest of the recording. */
  windowChanges: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<WindowAnswer>(query("/window_changes", values), null, signal),
  /** Busy as it would have been with processors online that were varied off. */
  withProcessors: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<WithProcessors>(query("/with_processors", values), null, signal),
  moved: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<MovedAnswer>(query("/correlations", values), null, signal),
  evidence: (values: Record<string, Cell | undefined>, signal?: AbortSignal) =>
    call<Evidence>(query("/evidence", values), null, signal),
  compare: <T>(question: object, signal?: AbortSignal) => call<T>("/compare", question, signal),
  solve: <T>(question: object, signal?: AbortSignal) => call<T>("/solve", question, signal),
  expected: <T>(question: object, signal?: AbortSignal) => call<T>("/expected", question, signal),
  plan: <T>(question: object, signal?: AbortSignal) => call<T>("/plan", question, signal),
  /** The keys of a model's scenario. */
  keys: (model: string, signal?: AbortSignal) =>
    call<{ keys: string }>(query("/model", { model }), null, signal),
  /** The results of the rig. */
  rig: (signal?: AbortSignal) => call<RigResults>("/rig", null, signal),
  /** An observation of the rig over time in the data of a run, SCENARIO/RUN: interval end, subject, value. */
  course: (observation: RigObservation, run: string, signal?: AbortSignal) =>
    call<SqlAnswer>("/sql", { query: observation.over_time, rows: 100_000, run }, signal),
  running: (signal?: AbortSignal) => call<Running[]>("/running", null, signal),
  /** Exchanges the token for a cookie. */
  enter: async (token: string): Promise<void> => {
    const response = await fetch(`${ROOT}/login`, post({ token }));
    if (!response.ok) throw errorOf(await response.json(), response.status);
  },
};
