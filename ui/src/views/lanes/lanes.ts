/** Lanes: events and subjects on one time axis, and the part of the axis that is visible. */

import type { SystemEvent } from "../../lib/api/annotations.svelte";
import type { AggregateAnswer, AggregateQuestion } from "../../lib/api/types";
import type { Cell } from "../../lib/api/values";
import { cpuLabel, sentence } from "../../lib/text/names";
import { formatQuantity } from "../../lib/text/numbers";
import { csv } from "../../lib/text/rows";
import { dateTime } from "../../lib/time/format";

export type Range = [number, number];

/** A kind of subjects, each of which has a lane. */
export interface LaneGroup {
  id: string;
  title: string;
  table: string;
  column: string;
  by: string[];
  where?: Record<string, string>;
  unit: string;
  /** The value of a full lane; null: the largest value of the group. */
  full: number | null;
  view: string;
  label: (key: Cell[]) => string;
  settings: (key: Cell[]) => Record<string, string>;
}

export const GROUPS: LaneGroup[] = [
  {
    id: "processors",
    title: "Processors",
    table: "cpu",
    column: "busy_pct",
    by: ["cpu_id"],
    unit: "%",
    full: 100,
    view: "processors",
    label: ([id]) => cpuLabel(id),
    settings: ([id]) => ({ cpu: String(id) }),
  },
  {
    id: "partitions",
    title: "Partitions",
    table: "partition",
    column: "total_pct",
    by: ["partition", "cpu_type"],
    unit: "%",
    full: 100,
    view: "machine",
    label: (key) => key.join(" "),
    settings: () => ({}),
  },
  {
    id: "guests",
    title: "Guests",
    table: "guest",
    column: "cpu_pct",
    by: ["userid"],
    unit: "%",
    full: null,
    view: "guests",
    label: ([userid]) => String(userid),
    settings: ([userid]) => ({ user: String(userid) }),
  },
  {
    id: "classes",
    title: "Service classes",
    table: "workload",
    column: "appl_cp_pct",
    by: ["class"],
    where: { class_kind: "service" },
    unit: "%",
    full: null,
    view: "workloads",
    label: ([name]) => String(name),
    settings: ([name]) => ({ find: String(name) }),
  },
  {
    id: "devices",
    title: "Devices",
    table: "device",
    column: "rate",
    by: ["device"],
    unit: "/s",
    full: null,
    view: "io",
    label: ([device]) => String(device),
    settings: ([device]) => ({ device: String(device) }),
  },
];

/** Values of a subject over time; each covers its `seconds`, which end at its time. */
export interface Lane {
  kind: "lane";
  group: LaneGroup;
  label: string;
  key: Cell[];
  t: number[];
  value: (number | null)[];
  seconds: number[];
  full: number;
}

/** Events of one kind. */
export interface EventLane {
  kind: "events";
  label: string;
  events: SystemEvent[];
}

/** The title of a group, which hides or shows its lanes. */
export interface Heading {
  kind: "heading";
  id: string;
  label: string;
  shut: boolean;
}

export type Row = Lane | EventLane | Heading;

/**
 * The request for a group: every subject with its values over time, in order of their keys where a full lane
 * has a meaning of its own, otherwise largest first.
 */
export const question = (group: LaneGroup, buckets: number): AggregateQuestion => ({
  table: group.table,
  columns: { [group.column]: ["mean", "max"] },
  by: group.by,
  where: group.where ?? {},
  series: { column: group.column, statistic: "mean", buckets },
  ...(group.full === null ? { order: `${group.column}_mean`, descending: true } : {}),
});

/** The lanes of a result; subjects without values have none. */
export function lanesOf(group: LaneGroup, answer: AggregateAnswer, length: number): Lane[] {
  const t = answer.series_t ?? [];
  const steps = t.slice(1).map((time, at) => time - t[at]!);
  const usual = [...steps].sort((a, b) => a - b)[steps.length >> 1] ?? length;
  // A short interval starts where the previous one ends; after a gap, an interval has the usual length.
  const seconds = t.map((_, at) => Math.min(usual, steps[at - 1] ?? usual));
  const [keys, most] = [
    group.by.map((name) => answer.columns.indexOf(name)),
    answer.columns.indexOf(`${group.column}_max`),
  ];
  const rows = answer.rows.map((row, at) => ({ row, value: answer.series?.[at] ?? [] }));
  const known = rows.filter(({ value }) => value.some((number) => number !== null));
  const largest = Math.max(0, ...known.map(({ row }) => Number(row[most] ?? 0)));
  const full = group.full ?? (largest || 1);
  const lanes = new Map<string, Lane>();
  for (const { row, value } of known) {
    const key = keys.map((at) => row[at] ?? null);
    const name = JSON.stringify(key);
    // A subject has a row for each source of its system, and every interval is of one source.
    const before = lanes.get(name)?.value ?? [];
    const both = value.map((number, at) => before[at] ?? number);
    lanes.set(name, { kind: "lane", group, label: group.label(key), key, t, value: both, seconds, full });
  }
  return [...lanes.values()];
}

/** Rows of the chart: events by kind, then each group with its lanes. */
export function rowsOf(
  events: readonly SystemEvent[],
  groups: readonly { group: LaneGroup; lanes: Lane[] }[],
  shut: ReadonlySet<string>,
): Row[] {
  const kinds = [...new Set(events.map(({ kind }) => kind))].sort();
  const scale = (group: LaneGroup, [first]: Lane[]): string =>
    group.full === null && first ? `, full lane: ${formatQuantity(first.full, group.unit)}` : "";
  const lanes: { id: string; title: string; scale?: string; rows: (Lane | EventLane)[] }[] = [
    {
      id: "events",
      title: "Events",
      rows: kinds.map((kind) => ({
        kind: "events",
        label: sentence(kind),
        events: events.filter((event) => event.kind === kind),
      })),
    },
    ...groups.map(({ group, lanes }) => ({
      id: group.id,
      title: group.title,
      scale: scale(group, lanes),
      rows: lanes,
    })),
  ];
  return lanes.flatMap(({ id, title, scale = "", rows }): Row[] =>
    rows.length
      ? [
          { kind: "heading", id, label: `${title} (${rows.length})${scale}`, shut: shut.has(id) },
          ...(shut.has(id) ? [] : rows),
        ]
      : [],
  );
}

/** The events and values of the rows as CSV. */
export const csvOf = (rows: readonly Row[], offset: number): string =>
  csv(
    ["group", "subject", "time", "time_utc_s", "unit", "value"],
    rows.flatMap((row): Cell[][] =>
      row.kind === "events"
        ? row.events.map(({ t, subject }) => [row.label, subject, dateTime(t, offset), t, null, null])
        : row.kind === "lane"
          ? row.t.map((t, at) => [
              row.group.title,
              row.label,
              dateTime(t, offset),
              t,
              row.group.unit,
              row.value[at] ?? null,
            ])
          : [],
    ),
  );

/** The first row and the row after the last one in a scrolled part of rows of one height. */
export const inView = (top: number, height: number, rowHeight: number, count: number): [number, number] => [
  Math.min(count, Math.max(0, Math.floor(top / rowHeight))),
  Math.min(count, Math.max(0, Math.ceil((top + height) / rowHeight))),
];

/** Zooms a range around a time: the time keeps its position. The range stays within the span. */
export function zoomed([from, to]: Range, factor: number, around: number, span: Range, least: number): Range {
  const [first, last] = span;
  const length = Math.min(last - first, Math.max(least, (to - from) * factor));
  const share = to > from ? (Math.min(to, Math.max(from, around)) - from) / (to - from) : 0.5;
  return within([around - share * length, around + (1 - share) * length], span);
}

/** Moves a range by a share of its length, within the span. */
export const moved = ([from, to]: Range, share: number, span: Range): Range =>
  within([from + share * (to - from), to + share * (to - from)], span);

function within([from, to]: Range, [first, last]: Range): Range {
  const start = Math.max(first, Math.min(from, last - (to - from)));
  return [start, Math.min(last, start + (to - from))];
}

/** The index of the value that covers a time; -1: none. */
export function indexAt({ t, seconds }: Pick<Lane, "t" | "seconds">, time: number): number {
  const at = t.findIndex((end) => end >= time);
  return at >= 0 && t[at]! - seconds[at]! <= time ? at : -1;
}
