/** Devices: times per operation, weighted as in FCX108, and the parts of a response. */

import type { Cell } from "../../lib/api/values";
import { everything, type Shown } from "../../lib/api/tables";
import { withColumns, type AggregateResult } from "../../lib/api/measures";
import { category } from "../../lib/paint/palette";
import { route } from "../../lib/page/route.svelte";
import type { Layer } from "../../lib/paint/stack";

/** Attributes of a device. */
export const FACTS: Shown[] = ["volume", "use", "group_name", "device_type", "model", "device_class"].map(
  (column) => ({ column, what: "last" }),
);

/** Disk classes, as in the total row of FCX108. */
export const DISKS = ["ECKD", "FBA"];

/** The parts of a response in the order of a request, and the service time. */
export const TIMES = ["queue_s", "pend_s", "disc_s", "conn_s", "serv_s"];

/** Measured values of a device, requested together, so that a window needs one request. */
export const NUMBERS: Shown[] = [
  { column: "rate" },
  { column: "resp_s" },
  { column: "resp_s", what: "p95" },
  { column: "resp_s", what: "max" },
  ...TIMES.map((column) => ({ column })),
  { column: "queued" },
  { column: "busy_pct" },
  { column: "read_pct" },
];

/** All columns that the requests need, so that they are computed once. */
export const KEEP = [...new Set([...FACTS, ...NUMBERS].map((shown) => shown.column))];

/** The columns of the table, in order. */
export const TABLE: Shown[] = [
  ...FACTS.slice(0, 3),
  ...NUMBERS.filter((shown) => shown.column !== "serv_s"),
  { column: "device_type" },
];

/** The remaining columns, if all are requested. */
export const everyColumn = (): Shown[] =>
  route.get("devices.all") ? everything("device", TABLE).slice(TABLE.length) : [];

export interface Part {
  key: string;
  name: string;
  text: string;
  color: string;
}

/** The parts of a response. */
export const PARTS: Part[] = [
  { key: "queue_s", name: "Queue", text: "Waiting in CP's queue", color: category(5) },
  { key: "pend_s", name: "Pend", text: "Pending in the channel subsystem", color: category(1) },
  { key: "disc_s", name: "Disc", text: "Disconnected: the control unit works on it", color: category(2) },
  { key: "conn_s", name: "Conn", text: "Connected: data is transferred", color: category(0) },
  { key: "other", name: "Other service", text: "Service time outside these parts", color: category(6) },
];

/** Joins results about the same subjects, with the SQL of the first one; missing cells are null. */
export function joined(
  base: AggregateResult,
  others: (AggregateResult | null)[],
  by: string[],
): AggregateResult {
  const columns = [...base.columns];
  // Two sources may have the same subjects.
  const keyOf = (all: string[]) => {
    const places = ["system", "source", ...by].map((name) => all.indexOf(name));
    return (row: Cell[]): string => JSON.stringify(places.map((at) => row[at]));
  };
  const taken = others.flatMap((other) => {
    if (!other) return [];
    const key = keyOf(other.columns);
    const rows = new Map(other.rows.map((row) => [key(row), row]));
    const added = other.columns.flatMap((name, place) => (columns.includes(name) ? [] : [{ name, place }]));
    columns.push(...added.map((added) => added.name));
    return [{ rows, places: added.map((added) => added.place) }];
  });
  const key = keyOf(base.columns);
  return withColumns({
    columns,
    rows: base.rows.map((row) => [
      ...row,
      ...taken.flatMap(({ rows, places }) => {
        const other = rows.get(key(row));
        return places.map((route) => other?.[route] ?? null);
      }),
    ]),
    sql: base.sql,
    more: base.more,
  });
}

type Value = number | null;

/** Returns the parts for TIMES; the rest of the service time is a separate part unless it is rounding. */
export function parts([queue = null, pend = null, disc = null, conn = null, serv = null]: Value[]): Value[] {
  let other: Value = null;
  if (serv !== null) {
    const left = serv - (pend ?? 0) - (disc ?? 0) - (conn ?? 0);
    if (left > 1e-6 * serv) other = left;
  }
  // Rounding can make an empty wait negative.
  return [queue === null ? null : Math.max(0, queue), pend, disc, conn, other];
}

/** The parts as layers; empty ones are dropped. */
export function layers(rows: Value[][]): Layer[] {
  return PARTS.map(({ name, color, text }, at) => ({
    name,
    color,
    text,
    value: rows.map((row) => row[at] ?? null),
  })).filter((layer) => layer.name !== "Other service" || layer.value.some((value) => value !== null));
}

/** Whether a device matches the search: by number, volume, use, or group. */
export function matches(words: string, texts: (string | null)[]): boolean {
  const wanted = words.trim().toLowerCase();
  return !wanted || texts.some((text) => text !== null && text.toLowerCase().includes(wanted));
}
