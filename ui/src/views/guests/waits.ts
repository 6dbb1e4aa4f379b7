/** Sampled states of virtual machines, and their drawing over time. */

import { timeAxes, LEFT, RIGHT } from "../../lib/paint/axes";
import type { AggregateAnswer } from "../../lib/api/types";
import { dateTime } from "../../lib/time/format";
import { columnLabel, sentence } from "../../lib/text/names";
import { reading } from "../../lib/paint/stack";
import type { Region, Draw } from "../../lib/paint/painter";
import { category } from "../../lib/paint/palette";
import { rowsOf } from "./subjects";
import type { State } from "../../lib/api/subject";

/** From working to idle. */
const COLORS = "#009e73 #d55e00 #cc79a7 #e69f00 #56b4e9 #f0e442 #0072b2 #66707b #b3bac2".split(" ");

/** Legend entries of the states. */
export function legend(states: State[]): { key: string; name: string; color: string; columns: string[] }[] {
  return states.map((state, at) => ({
    ...state,
    name: sentence(state.name),
    color: COLORS[at] ?? category(at),
  }));
}

export function stateColumns(states: State[]): string[] {
  return states.flatMap((state) => state.columns);
}

/** Percentages by column; null if there were no samples. */
export type Shares = Record<string, number | null>;

export function shareOf(state: { columns: string[] }, shares: Shares): number | null {
  const known = state.columns.map((column) => shares[column] ?? null).filter((share) => share !== null);
  return known.length ? known.reduce((a, b) => a + b, 0) : null;
}

export function sampled(shares: Shares | undefined): shares is Shares {
  return shares !== undefined && Object.values(shares).some((share) => share !== null);
}

/** The percentage of samples in wait states. */
export function waiting(states: State[], shares: Shares): number | null {
  if (!sampled(shares)) return null;
  return states.filter((state) => state.waits).reduce((sum, state) => sum + (shareOf(state, shares) ?? 0), 0);
}

export interface Bar {
  state: { key: string; color: string };
  from: number;
  to: number;
}

/** Start and end of each state in a bar, in percent. */
export function parts(
  states: State[],
  shares: Shares,
  hides: (name: string) => boolean = () => false,
): Bar[] {
  const bars: Bar[] = [];
  let at = 0;
  for (const state of legend(states)) {
    if (hides(state.name)) continue;
    const share = shareOf(state, shares) ?? 0;
    if (share > 0) bars.push({ state, from: at, to: at + share });
    at += share;
  }
  return bars;
}

/** Tooltip lines: every sampled state in percent. */
export function shareLines(shares: Shares): string[] {
  if (!sampled(shares)) return ["No samples"];
  return Object.entries(shares).flatMap(([column, value]) =>
    value ? [reading(columnLabel(column), value, "%")] : [],
  );
}

/** Shares over time; `t` is the end of the bucket in seconds UTC. */
export interface Stretch {
  from: number;
  t: number;
  shares: Shares;
}

/** Returns the buckets of a result. */
export function stretches(answer: AggregateAnswer, columns: string[]): Stretch[] {
  return rowsOf(answer).flatMap((value): Stretch[] => {
    const t = value("t");
    const seconds = answer.bucket_s || value("seconds_total");
    if (typeof t !== "number" || typeof seconds !== "number") return [];
    const shares = columns.map((column) => [column, value(`${column}_mean`) as number | null] as const);
    return [{ from: t - seconds, t, shares: Object.fromEntries(shares) }];
  });
}

const SCALE = { low: 0, high: 100, ticks: [0, 25, 50, 75, 100] };

export function drawWaits(
  states: State[],
  all: Stretch[],
  window: [number, number],
  offset: number,
  hides?: (name: string) => boolean,
): Draw {
  return (painter, width, height, theme) => {
    const { x, y, top, bottom } = timeAxes(painter, width, height, theme, { window, offset, scale: SCALE });
    painter.clip(LEFT, 0, width - LEFT - RIGHT, height, () => {
      for (const stretch of all) {
        const left = x(stretch.from);
        const wide = Math.max(1, x(stretch.t) - left);
        if (!sampled(stretch.shares)) {
          painter.hatch(left, top, wide, bottom - top, theme.grid);
          continue;
        }
        for (const part of parts(states, stretch.shares, hides)) {
          painter.rect(left, y(part.to), wide + 0.4, y(part.from) - y(part.to), { fill: part.state.color });
        }
      }
    });
  };
}

/** The region under the pointer. */
export function waitsAt(
  all: Stretch[],
  window: [number, number],
  offset: number,
  px: number,
  width: number,
): Region | null {
  const [from, to] = window;
  const moment = from + ((px - LEFT) / Math.max(1, width - LEFT - RIGHT)) * (to - from);
  const under = all.find((stretch) => stretch.from <= moment && moment < stretch.t);
  if (!under || px < LEFT || px > width - RIGHT) return null;
  return {
    x: px,
    y: 0,
    width: 1,
    height: 1,
    lines: [dateTime(under.t, offset), ...shareLines(under.shares)],
  };
}
