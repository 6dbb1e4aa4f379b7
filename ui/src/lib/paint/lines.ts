/** Lines of a time chart: made of what the server answers, joined on one axis, and drawn for pictures. */

import type { Mark } from "../time/mark";
import type { Level, Values, Line, Course } from "../api/course";
import { dateTime, tickLabel } from "../time/format";
import { short } from "../text/numbers";
import { axis } from "./axes";
import { timeTicks } from "../time/ticks";
import type { Draw } from "./painter";
import { category, tone } from "./palette";

/** A line with the band of what it went through within each pixel. */
export interface Trace {
  name: string;
  colour: string;
  t: number[];
  value: (number | null)[];
  low: (number | null)[] | null;
  high: (number | null)[] | null;
  dash?: number[];
}

/** One trace per line of a course; the band is drawn where a bucket holds more than one interval. */
export function traces(
  course: Course | null,
  name: (line: Line) => string,
  {
    level = "p50",
    band = true,
    times = 1,
    colour,
  }: {
    level?: Level;
    band?: boolean;
    /** What values are multiplied with, where another unit is shown. */
    times?: number;
    colour?: (line: Line, at: number) => string;
  } = {},
): Trace[] {
  const lines = course?.lines ?? [];
  const sources = new Set(lines.map((line) => line.source)).size;
  const scaled = (values: Values): Values =>
    times === 1 ? values : values.map((one) => (one === null ? null : one * times));
  return lines.map((line, at) => ({
    // What two sources tell of one subject is not the same line.
    name: sources > 1 ? `${name(line)} (${line.source})` : name(line),
    colour: colour?.(line, at) ?? category(at),
    t: line.t,
    value: scaled(line[level]),
    low: band && course!.bucket_s > 0 ? scaled(line.min) : null,
    high: band && course!.bucket_s > 0 ? scaled(line.max) : null,
    // Colours come again after the eighth; a dashed line tells them apart.
    dash: at >= 8 ? [5, 3] : undefined,
  }));
}

/** A gap in time, where lines must not be joined: more than 1.6 times the usual distance. */
export function breaks(t: number[]): number[] {
  if (t.length < 3) return [];
  const steps = t.slice(1).map((one, at) => one - t[at]!);
  const usual = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)]!;
  return steps.flatMap((step, at) => (step > 1.6 * usual ? [t[at]! + usual / 2] : []));
}

/** All times of some traces in order, gaps included. */
export function times(found: Trace[]): number[] {
  const all = new Set<number>();
  for (const trace of found) {
    for (const t of trace.t) all.add(t);
    for (const t of breaks(trace.t)) all.add(t);
  }
  return [...all].sort((a, b) => a - b);
}

/** Values at the joint times: null at a gap, undefined (bridged) where the trace has no point. */
export function placed(
  joint: number[],
  trace: Trace,
  values: (number | null)[],
): (number | null | undefined)[] {
  const at = new Map(trace.t.map((t, index) => [t, values[index] ?? null]));
  for (const t of breaks(trace.t)) at.set(t, null);
  return joint.map((t) => at.get(t));
}

/** The value of a trace at or just before a moment. */
export function valueAt(trace: Trace, moment: number): number | null {
  let low = 0;
  let high = trace.t.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (trace.t[middle]! < moment) low = middle + 1;
    else high = middle;
  }
  return trace.value[Math.min(low, trace.t.length - 1)] ?? null;
}

/** Largest and smallest value of traces, bands included. */
export function extent(found: Trace[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const trace of found) {
    for (const values of [trace.value, trace.low, trace.high]) {
      for (const value of values ?? []) {
        if (value === null) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
  }
  return low <= high ? [low, high] : [0, 1];
}

export const LEFT = 52;
export const RIGHT = 12;

/** The chart as a drawing, for PNG and SVG. */
export function drawLines(
  found: Trace[],
  window: [number, number],
  offset: number,
  { marks = [], from0 = true, most = null }: { marks?: Mark[]; from0?: boolean; most?: number | null } = {},
): Draw {
  return (painter, width, height, theme) => {
    const [low, high] = extent(found);
    const y = axis(
      from0 ? Math.min(0, low) : low,
      Math.max(high, most ?? -Infinity),
      Math.max(2, height / 50),
    );
    const [from, to] = window;
    const bottom = height - 22;
    const x = (t: number): number => LEFT + ((t - from) / Math.max(1e-9, to - from)) * (width - LEFT - RIGHT);
    const up = (value: number): number => 8 + ((y.high - value) / (y.high - y.low)) * (bottom - 8);
    for (const tick of y.ticks) {
      painter.path(
        [
          [LEFT, up(tick)],
          [width - RIGHT, up(tick)],
        ],
        { stroke: theme.grid },
      );
      painter.text(LEFT - 6, up(tick), short(tick), { colour: theme.faint, align: "right", size: 11 });
    }
    for (const tick of timeTicks(from, to, offset, width / 110)) {
      // The last one would be cut off at the edge.
      const edge = x(tick) > width - 18;
      painter.text(edge ? width - 2 : x(tick), bottom + 12, tickLabel(tick, from, to, offset), {
        colour: theme.faint,
        align: edge ? "right" : "center",
        size: 11,
      });
    }
    painter.clip(LEFT, 0, width - LEFT - RIGHT, height, () => {
      for (const mark of marks) {
        painter.path(
          [
            [x(mark.t), 8],
            [x(mark.t), bottom],
          ],
          { stroke: tone(theme, mark.colour), dash: [3, 3] },
        );
      }
      for (const trace of found) {
        const gaps = new Set(breaks(trace.t));
        const points = trace.t.map((t, at) => [t, at] as const);
        const merged = [...points, ...[...gaps].map((t) => [t, -1] as const)].sort((a, b) => a[0] - b[0]);
        let run: [number, number][] = [];
        let above: [number, number][] = [];
        let below: [number, number][] = [];
        const flush = (): void => {
          if (above.length)
            painter.path([...above, ...below.reverse()], { fill: trace.colour, opacity: 0.2 }, true);
          if (run.length > 1) painter.path(run, { stroke: trace.colour, width: 1.5, dash: trace.dash });
          else if (run.length) painter.circle(run[0]![0], run[0]![1], 2, { fill: trace.colour });
          run = [];
          above = [];
          below = [];
        };
        for (const [t, at] of merged) {
          const value = at < 0 ? null : (trace.value[at] ?? null);
          if (value === null) {
            flush();
            continue;
          }
          run.push([x(t), up(value)]);
          if (trace.low && trace.high) {
            above.push([x(t), up(trace.high[at] ?? value)]);
            below.push([x(t), up(trace.low[at] ?? value)]);
          }
        }
        flush();
      }
    });
  };
}

/** What the traces show, as rows for a spreadsheet. */
export function linesTable(
  found: Trace[],
  offset: number,
): { columns: string[]; rows: (string | number | null)[][] } {
  const joint = [...new Set(found.flatMap((trace) => trace.t))].sort((a, b) => a - b);
  const columns = ["time", "time_utc_s"];
  for (const trace of found) {
    columns.push(trace.name);
    if (trace.low) columns.push(`${trace.name} min`, `${trace.name} max`);
  }
  const indexes = found.map((trace) => new Map(trace.t.map((t, at) => [t, at])));
  const rows = joint.map((t) => {
    const row: (string | number | null)[] = [dateTime(t, offset), t];
    found.forEach((trace, n) => {
      const at = indexes[n]!.get(t);
      row.push(at === undefined ? null : (trace.value[at] ?? null));
      if (trace.low) row.push(at === undefined ? null : (trace.low[at] ?? null));
      if (trace.low) row.push(at === undefined ? null : (trace.high?.[at] ?? null));
    });
    return row;
  });
  return { columns, rows };
}
