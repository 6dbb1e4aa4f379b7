/** Processors and cores as rows in the order of the machine, with adjacent threads of a core. */

import type { Statistic } from "../../lib/api/values";
import type { TableInfo } from "../../lib/api/types";
import { formatPrecise, formatQuantity } from "../../lib/text/numbers";
import type { TimeSeries, Level, Line } from "../../lib/api/series";
import { fetchSeries, selection, type AggregateResult } from "../../lib/api/measures";
import { sentence } from "../../lib/text/names";

export interface Processor {
  cpu: number;
  core: number | null;
  thread: number | null;
  type: string | null;
  /** Polarity within the window, joined if it changed. */
  polarity: string | null;
  entitlement: number | null;
}

/** Columns for the heat map of processors. */
export const PROCESSOR_METRICS = [
  "busy_pct",
  "emulation_pct",
  "user_pct",
  "system_pct",
  "wait_pct",
  "suspend_pct",
  "parked_pct",
  "spin_pct",
  "mvs_busy_pct",
] as const;

/** Columns for the heat map of cores. */
export const CORE_METRICS = [
  "core_busy_pct",
  "mt_utilization_pct",
  "thread_density",
  "productivity_pct",
  "parked_pct",
] as const;

export const LEVELS: { id: Level; text: string }[] = [
  { id: "p50", text: "Median" },
  { id: "p95", text: "95th percentile" },
  { id: "max", text: "Maximum" },
  { id: "min", text: "Minimum" },
];

/** The selected word, or the first one if it is invalid. */
export function chosen<T extends string>(word: string | null, from: readonly T[]): T {
  return from.find((id) => id === word) ?? from[0]!;
}

/** Attributes of every processor. */
export const PROCESSOR_ATTRIBUTES: Record<string, Statistic[]> = {
  core_id: ["last"],
  thread_id: ["last"],
  cpu_type: ["last"],
  polarity: ["first", "last"],
  entitlement_pct: ["last"],
};

/** The polarity of a row; both values if it changed. */
export function polarity(answer: AggregateResult, at: number): string | null {
  const both = ["polarity_first", "polarity_last"].map((name) => answer.column(name)[at] ?? null);
  return [...new Set(both.filter((value) => value !== null))].join("/") || null;
}

export function processors(answer: AggregateResult | null): Processor[] {
  if (!answer) return [];
  const number = (name: string, at: number): number | null => answer.numbers(name)[at] ?? null;
  return answer
    .numbers("cpu_id")
    .flatMap((cpu, at) => {
      if (cpu === null) return [];
      const type = answer.column("cpu_type_last")[at];
      return [
        {
          cpu,
          core: number("core_id_last", at),
          thread: number("thread_id_last", at),
          type: typeof type === "string" && type ? type : null,
          polarity: polarity(answer, at),
          entitlement: number("entitlement_pct_last", at),
        },
      ];
    })
    .sort(
      (a, b) =>
        (a.core ?? Infinity) - (b.core ?? Infinity) ||
        (a.thread ?? 0) - (b.thread ?? 0) ||
        a.cpu - b.cpu ||
        0,
    );
}

/** Whether rows are grouped: some core has several threads. */
export function threaded(all: Processor[]): boolean {
  const seen = new Set<number>();
  for (const processor of all) {
    if (processor.core === null) continue;
    if (seen.has(processor.core)) return true;
    seen.add(processor.core);
  }
  return false;
}

/** The note next to a processor: its type if there are several, polarity, and entitlement. */
export function rowNote(processor: Processor, types: number): string {
  return [
    types > 1 ? processor.type : null,
    processor.polarity,
    processor.entitlement === null ? null : formatQuantity(processor.entitlement, "%"),
  ]
    .filter(Boolean)
    .join(" ");
}

/** Counts the values of each column. */
export const counts = (columns: readonly string[]): Record<string, Statistic[]> =>
  Object.fromEntries(columns.map((column): [string, Statistic[]] => [column, ["count"]]));

/** Requests a heat map: a column over time, and when each subject was parked. */
export const heatCourse = (
  table: string,
  key: string,
  column: string,
  signal: AbortSignal,
): Promise<TimeSeries> =>
  fetchSeries(
    {
      table,
      columns: [...new Set([column, "parked_pct"])],
      by: [key],
      levels: ["min", "max", "p50", "p95"],
      lengths: true,
      buckets: 300,
      ...selection(),
    },
    signal,
  );

export interface Row {
  t: number[];
  seconds: number[];
  value: (number | null)[];
  /** Whether the subject was parked throughout, and so has no value. */
  parked: boolean[];
  /** The range within each bucket of several intervals. */
  range: (string | null)[];
}

/** Heat map rows by subject: values at a level, and when the subject was parked throughout. */
export function heatRows(
  lines: TimeSeries | null,
  column: string,
  level: Level,
  parked = "parked_pct",
): Map<number, Row> {
  const rows = new Map<number, Row>();
  const sleeping = new Map<number, Map<number, boolean>>();
  for (const line of lines?.lines ?? []) {
    if (line.column === parked && typeof line.by === "number") {
      sleeping.set(line.by, new Map(line.t.map((t, at) => [t, (line.min[at] ?? 0) >= 99.95])));
    }
  }
  for (const line of lines?.lines ?? []) {
    if (line.column !== column || typeof line.by !== "number") continue;
    rows.set(line.by, {
      t: line.t,
      seconds: line.seconds,
      value: line[level],
      parked: line.t.map((t) => sleeping.get(line.by as number)?.get(t) ?? false),
      range: line.t.map((_, at) => within(line, at)),
    });
  }
  return rows;
}

function within(line: Line, at: number): string | null {
  const [low, high] = [line.min[at] ?? null, line.max[at] ?? null];
  return low === null || high === null || low === high
    ? null
    : `From ${formatPrecise(low)} to ${formatPrecise(high)}`;
}

/** The columns with any values. */
export const filled = (names: readonly string[], answer: AggregateResult | null): Set<string> =>
  new Set(names.filter((name) => answer?.numbers(`${name}_count`).some((count) => (count ?? 0) > 0)));

/** The reason why a column has no values, in the catalog's words. */
export function unfilled(table: TableInfo | undefined, column: string): string {
  const about = table?.columns.find((about) => about.name === column);
  return `${sentence(about?.text ?? column)}: not in this input, or not available in this window`;
}
