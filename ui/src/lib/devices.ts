/** Devices of a window: times per operation weighted as FCX108 does, and the parts of a response. */

import type { Kind, SqlAnswer } from "./api";
import { category } from "./palette";
import type { Layer } from "./stack";

/** What every question about devices reads, so that one kept table serves all of them. */
export const DEVICE_COLUMNS = [
  "system",
  "interval_end",
  "seconds",
  "flag",
  "device",
  "volume",
  "device_type",
  "device_class",
  "model",
  "group_name",
  "use",
  "rate",
  "measured_rate",
  "pend_s",
  "disc_s",
  "conn_s",
  "serv_s",
  "resp_s",
  "queued",
  "busy_pct",
  "read_pct",
];

/** SQL: the disks, as FCX108 takes them for its row of all. */
export const DISKS = "coalesce(device_class IN ('ECKD', 'FBA'), volume IS NOT NULL)";

/** SQL: what a mean hides, in milliseconds, over intervals. */
export const SPREAD = `1000 * quantile_cont(resp_s, 0.95) AS resp_p95_ms,
  1000 * max(resp_s) AS resp_max_ms`;

/** SQL: means over operations, in milliseconds; each operation counts once, whenever it was. */
export const TIMES = `1000 * weighted_mean(resp_s, rate * seconds) AS resp_ms,
  1000 * weighted_mean(pend_s, measured_rate * seconds) AS pend_ms,
  1000 * weighted_mean(disc_s, measured_rate * seconds) AS disc_ms,
  1000 * weighted_mean(conn_s, measured_rate * seconds) AS conn_ms,
  1000 * weighted_mean(serv_s, measured_rate * seconds) AS serv_ms,
  1000 * weighted_mean(resp_s - serv_s, rate * seconds) AS queue_ms`;

export interface Part {
  key: string;
  name: string;
  text: string;
  colour: string;
}

/** The parts of a response in the order a request meets them. */
export const PARTS: Part[] = [
  {
    key: "queue_ms",
    name: "queue",
    text: "waiting in CP's queue: response less service",
    colour: category(5),
  },
  { key: "pend_ms", name: "pend", text: "pending in the channel subsystem", colour: category(1) },
  { key: "disc_ms", name: "disc", text: "disconnected: the control unit works on it", colour: category(2) },
  { key: "conn_ms", name: "conn", text: "connected: data move", colour: category(0) },
  { key: "other_ms", name: "other service", text: "service that is none of the parts", colour: category(6) },
];

/** The answers of several questions about the same devices side by side; what is not there yet is null. */
export function joined(base: SqlAnswer, others: (SqlAnswer | null)[], columns: string[]): SqlAnswer {
  const given = others.map((other) => ({
    at: new Map(other?.columns.map((name, at) => [name, at])),
    rows: new Map(other?.rows.map((row) => [row[0], row])),
  }));
  const added = columns.filter((name) => !base.columns.includes(name));
  const typeOf = (name: string): Kind =>
    others.map((other) => other?.types[other.columns.indexOf(name)]).find((one) => one) ?? "float";
  return {
    ...base,
    columns: [...base.columns, ...added],
    types: [...base.types, ...added.map(typeOf)],
    rows: base.rows.map((row) => [
      ...row,
      ...added.map((name) => {
        const one = given.find(({ at }) => at.has(name));
        return one?.rows.get(row[0] ?? null)?.[one.at.get(name)!] ?? null;
      }),
    ]),
  };
}

type Value = number | null;

/** Parts from the columns of TIMES. What is left of the service is shown where it is more than rounding. */
export function parts(row: { queue: Value; pend: Value; disc: Value; conn: Value; serv: Value }): Value[] {
  const { queue, pend, disc, conn, serv } = row;
  let other: Value = null;
  if (serv !== null) {
    const left = serv - (pend ?? 0) - (disc ?? 0) - (conn ?? 0);
    if (left > 1e-6 * serv) other = left;
  }
  // A wait of nothing that rounding made negative is none.
  return [queue === null ? null : Math.max(0, queue), pend, disc, conn, other];
}

/** The parts of many rows as layers; a part that no row has is left out. */
export function layers(rows: Value[][]): Layer[] {
  return PARTS.map(({ name, colour, text }, at) => ({
    name,
    colour,
    text,
    value: rows.map((row) => row[at] ?? null),
  })).filter((one) => one.name !== "other service" || one.value.some((value) => value !== null));
}

/** Whether a device is one that was searched for: by number, volume, use or group. */
export function matches(words: string, texts: (string | null)[]): boolean {
  const wanted = words.trim().toLowerCase();
  return !wanted || texts.some((one) => one !== null && one.toLowerCase().includes(wanted));
}
