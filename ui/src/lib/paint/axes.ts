/** Axes of drawings: ticks at round numbers, grid lines, and labels. */

import { tickLabel } from "../time/format";
import { formatTick } from "../text/numbers";
import { timeTicks } from "../time/ticks";
import { segment, type Painter } from "./painter";
import type { Theme } from "./palette";

/** Margins of charts over time, in pixels. */
export const LEFT = 52;
export const RIGHT = 12;
const TOP = 8;
const FOOT = 22;

export interface Scale {
  low: number;
  high: number;
  ticks: number[];
}

/** Bounds, step, and ticks of an axis: steps are 1, 2, or 5 times a power of ten, about `count` of them. */
export function axis(low: number, high: number, count = 5): Scale & { step: number } {
  const top = high > low ? high : low + 1;
  const raw = (top - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step =
    [1, 2, 5, 10].map((times) => times * power).find((size) => size >= raw * (1 - 1e-9)) ?? 10 * power;
  const round = (value: number): number => Number(value.toPrecision(12));
  const first = round(Math.floor(low / step + 1e-9) * step);
  const last = round(Math.ceil(top / step - 1e-9) * step);
  const ticks: number[] = [];
  for (let at = 0; first + at * step <= last + step * 1e-9; at += 1)
    ticks.push(Number((first + at * step).toPrecision(12)));
  return { low: first, high: last, step, ticks };
}

/** An axis includes 0 if at most this share of its values lies below the smallest one. */
const NEAR_0 = 1 / 3;

/**
 * The axis of lines: it fits the values, and starts at 0 if they come near it or do not vary. With `end`, it
 * contains 0 and that value.
 */
export function lineAxis([low, high]: [number, number], end: number | null, count?: number): Scale {
  const near = low < high * NEAR_0 || low === high;
  const start = end !== null || (low > 0 && near) ? Math.min(0, low) : low;
  return axis(start, Math.max(high, end ?? -Infinity), count);
}

/** Maps times to pixels. */
export const timeScale =
  ([from, to]: [number, number], left: number, right: number) =>
  (t: number): number =>
    left + ((t - from) / Math.max(1e-9, to - from)) * (right - left);

/** Draws horizontal grid lines with labels to their left; `zero` emphasizes the line at 0. */
export function horizontalGrid(
  painter: Painter,
  theme: Theme,
  ticks: number[],
  y: (value: number) => number,
  [left, right]: [number, number],
  zero = false,
): void {
  for (const tick of ticks) {
    segment(painter, [left, y(tick)], [right, y(tick)], {
      stroke: zero && tick === 0 ? theme.faint : theme.grid,
    });
    painter.text(left - 6, y(tick), formatTick(tick), { color: theme.faint, align: "right", size: 11 });
  }
}

/** Draws vertical grid lines with labels below, emphasizing 0. */
export function verticalGrid(
  painter: Painter,
  theme: Theme,
  ticks: number[],
  x: (value: number) => number,
  [top, bottom]: [number, number],
  label = formatTick,
): void {
  for (const tick of ticks) {
    segment(painter, [x(tick), top], [x(tick), bottom], { stroke: tick === 0 ? theme.faint : theme.grid });
    painter.text(x(tick), bottom + 11, label(tick), { color: theme.faint, align: "center", size: 11 });
  }
}

/** Draws the axes of a chart over time; returns its scales. */
export function timeAxes(
  painter: Painter,
  width: number,
  height: number,
  theme: Theme,
  {
    window,
    offset,
    scale,
    top = TOP,
  }: { window: [number, number]; offset: number; scale: Scale; top?: number },
): { x: (t: number) => number; y: (value: number) => number; top: number; bottom: number } {
  const [from, to] = window;
  const bottom = height - FOOT;
  const x = timeScale(window, LEFT, width - RIGHT);
  const y = (value: number): number =>
    top + ((scale.high - value) / (scale.high - scale.low)) * (bottom - top);
  horizontalGrid(painter, theme, scale.ticks, y, [LEFT, width - RIGHT]);
  timeLabels(painter, theme, timeTicks(from, to, offset, width / 110), { window, offset, x }, [
    [0, width - 2],
    bottom + 12,
  ]);
  return { x, y, top, bottom };
}

/**
 * Draws labels of times between two edges. A label that would repeat or touch the previous one is left out.
 */
export function timeLabels(
  painter: Painter,
  theme: Theme,
  ticks: number[],
  { window, offset, x }: { window: [number, number]; offset: number; x: (t: number) => number },
  [[left, right], y]: [[number, number], number],
): void {
  let end = -Infinity;
  let last = "";
  for (const tick of ticks) {
    const label = tickLabel(tick, ...window, offset);
    const half = painter.measure(label, 11) / 2;
    const middle = Math.min(right - half, Math.max(left + half, x(tick)));
    if (label === last || middle - half < end + 6) continue;
    painter.text(middle, y, label, { color: theme.faint, align: "center", size: 11 });
    [end, last] = [middle + half, label];
  }
}

/** Draws the time labels of a strip, at least `margin` pixels from its ends. */
export function stripAxis(
  painter: Painter,
  width: number,
  height: number,
  theme: Theme,
  { window, offset, margin }: { window: [number, number]; offset: number; margin: number },
): { x: (t: number) => number; bottom: number } {
  const x = timeScale(window, 0, width);
  timeLabels(painter, theme, timeTicks(...window, offset, width / 120), { window, offset, x }, [
    [margin, width - margin],
    height - 6,
  ]);
  return { x, bottom: height - 14 };
}
