/** States that samples found a virtual machine in: how they are grouped for the eye, and drawn over time. */

import { dateTime, exact } from "./format";
import type { Region } from "./hover.svelte";
import { timeTicks, type Draw } from "./painter";

export interface State {
  key: string;
  name: string;
  colour: string;
  /** Columns of the measure that make it; the hover names each. */
  columns: string[];
}

/** From what a machine does to what it does not do; the columns of all of them make 100 %. */
export const STATES: State[] = [
  { key: "running", name: "running", colour: "#009e73", columns: ["running_pct"] },
  { key: "cpu", name: "waits for a processor", colour: "#d55e00", columns: ["cpu_wait_pct"] },
  { key: "limit", name: "held by its limit", colour: "#cc79a7", columns: ["limit_wait_pct"] },
  {
    key: "page",
    name: "waits for pages",
    colour: "#e69f00",
    columns: ["page_wait_pct", "loading_pct"],
  },
  { key: "io", name: "waits for I/O", colour: "#56b4e9", columns: ["io_wait_pct"] },
  {
    key: "simulation",
    name: "simulation, console",
    colour: "#f0e442",
    columns: ["simulation_wait_pct", "console_wait_pct"],
  },
  {
    key: "server",
    name: "waits for a server, other",
    colour: "#0072b2",
    columns: ["eligible_server_pct", "dormant_server_pct", "test_idle_server_pct", "other_wait_pct"],
  },
  {
    key: "idle",
    name: "idle, not yet dormant",
    colour: "#66707b",
    columns: ["test_idle_pct", "io_active_pct", "page_active_pct"],
  },
  { key: "dormant", name: "dormant", colour: "#b3bac2", columns: ["dormant_pct"] },
];

export const STATE_COLUMNS: string[] = STATES.flatMap((state) => state.columns);

/** SQL: shares of samples over many intervals, from the samples of each. */
export function stateSums(): string {
  return STATE_COLUMNS.map(
    (column) =>
      `sum(${column} * samples) / nullif(sum(samples) FILTER (WHERE ${column} IS NOT NULL), 0) AS ${column}`,
  ).join(",\n  ");
}

/** Shares in percent by column; null where there were no samples. */
export type Shares = Record<string, number | null>;

export function shareOf(state: State, shares: Shares): number | null {
  const known = state.columns.map((column) => shares[column] ?? null).filter((one) => one !== null);
  return known.length ? known.reduce((a, b) => a + b, 0) : null;
}

export function sampled(shares: Shares | undefined): shares is Shares {
  return shares !== undefined && STATE_COLUMNS.some((column) => (shares[column] ?? null) !== null);
}

/** Parts of a bar: where each state begins and ends, in percent. */
export function parts(shares: Shares): { state: State; from: number; to: number }[] {
  const found: { state: State; from: number; to: number }[] = [];
  let at = 0;
  for (const state of STATES) {
    const share = shareOf(state, shares) ?? 0;
    if (share > 0) found.push({ state, from: at, to: at + share });
    at += share;
  }
  return found;
}

/** What the hover says: every column that was found, in percent of the samples. */
export function told(shares: Shares, name: (column: string) => string): string[] {
  if (!sampled(shares)) return ["no samples"];
  return STATE_COLUMNS.flatMap((column) => {
    const value = shares[column] ?? null;
    return value === null || value === 0 ? [] : [`${name(column)}: ${exact(value)} %`];
  });
}

/** Name of a state's column for readers. */
export function stateName(column: string): string {
  return column.replace(/_pct$/, "").replaceAll("_", " ");
}

/** Shares over time; `t` is the end of each stretch, seconds UTC. */
export interface Stretch {
  from: number;
  t: number;
  shares: Shares;
}

const LEFT = 52;
const RIGHT = 12;
const TOP = 8;
const FOOT = 22;

export function drawWaits(stretches: Stretch[], window: [number, number], offset: number): Draw {
  return (painter, width, height, theme) => {
    const [from, to] = window;
    const bottom = height - FOOT;
    const x = (t: number): number => LEFT + ((t - from) / Math.max(1e-9, to - from)) * (width - LEFT - RIGHT);
    const y = (share: number): number => bottom - (share / 100) * (bottom - TOP);
    for (const tick of [0, 25, 50, 75, 100]) {
      painter.path(
        [
          [LEFT, y(tick)],
          [width - RIGHT, y(tick)],
        ],
        { stroke: theme.grid },
      );
      painter.text(LEFT - 6, y(tick), String(tick), { colour: theme.faint, align: "right", size: 11 });
    }
    painter.clip(LEFT, 0, width - LEFT - RIGHT, height, () => {
      for (const one of stretches) {
        const left = x(one.from);
        const wide = Math.max(1, x(one.t) - left);
        if (!sampled(one.shares)) {
          painter.hatch(left, TOP, wide, bottom - TOP, theme.grid);
          continue;
        }
        for (const part of parts(one.shares)) {
          painter.rect(left, y(part.to), wide + 0.4, y(part.from) - y(part.to), { fill: part.state.colour });
        }
      }
    });
    for (const tick of timeTicks(from, to, offset, width / 110)) {
      painter.text(x(tick), bottom + 12, dateTime(tick, offset).slice(11, 16), {
        colour: theme.faint,
        align: "center",
        size: 11,
      });
    }
  };
}

/** What lies under the pointer. */
export function waitsAt(
  stretches: Stretch[],
  window: [number, number],
  offset: number,
  px: number,
  width: number,
): Region | null {
  const [from, to] = window;
  const moment = from + ((px - LEFT) / Math.max(1, width - LEFT - RIGHT)) * (to - from);
  const found = stretches.find((one) => one.from <= moment && moment < one.t);
  if (!found || px < LEFT || px > width - RIGHT) return null;
  return {
    x: px,
    y: TOP,
    width: 1,
    height: 1,
    lines: [dateTime(found.t, offset), ...told(found.shares, stateName)],
  };
}

export const WAITS_AXIS = { left: LEFT, right: RIGHT };
