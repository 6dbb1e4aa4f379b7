/** Lines of a time chart: built from results, aligned to common times, and drawn for pictures. */

import type { Draw, Painter } from "./painter";
import { timeAxes, LEFT, RIGHT, lineAxis } from "./axes";
import type { Mark } from "../time/mark";
import type { Level, Values, Line, TimeSeries } from "../api/series";
import { dateTime } from "../time/format";
import { drawMarks } from "./marks";
import { formatShort, withUnit } from "../text/numbers";
import { category, colorsOf, type Theme } from "./palette";

/** A line, and the band between its minimum and maximum per bucket. */
export interface Trace {
  name: string;
  color: string;
  t: number[];
  value: (number | null)[];
  low: (number | null)[] | null;
  high: (number | null)[] | null;
  dash?: number[];
  /** Opens the subject of the line. */
  open?: () => void;
}

/** A line of fewer values has a point for each. */
export const FEW = 40;

/** Dashes of the first, second, and further lines of one color. */
const DASHES = [undefined, [5, 3], [2, 2], [9, 3, 2, 3]];

/** One trace per line; with a band if buckets hold several intervals. */
export function traces(
  course: TimeSeries | null,
  name: (line: Line) => string,
  {
    level = "p50",
    band = true,
    times = 1,
    color,
    open,
  }: {
    level?: Level;
    band?: boolean;
    /** Factor for the unit shown. */
    times?: number;
    color?: (line: Line, at: number) => string;
    open?: (line: Line) => () => void;
  } = {},
): Trace[] {
  const lines = course?.lines ?? [];
  const sources = new Set(lines.map((line) => line.source)).size;
  const scaled = (values: Values): Values =>
    times === 1 ? values : values.map((value) => (value === null ? null : value * times));
  // Lines of several subjects are colored by subject, others by their index.
  const subjects = [...new Set(lines.map((line) => String(line.by)))];
  const own = subjects.length > 1 ? colorsOf("", subjects) : null;
  const colors = lines.map((line, at) => color?.(line, at) ?? own?.get(String(line.by)) ?? category(at));
  return lines.map((line, at) => ({
    // Two sources of one subject are different lines.
    name: sources > 1 ? `${name(line)} (${line.source})` : name(line),
    color: colors[at]!,
    t: line.t,
    value: scaled(line[level]),
    low: band && course!.bucket_s > 0 ? scaled(line.min) : null,
    high: band && course!.bucket_s > 0 ? scaled(line.max) : null,
    // Dashes distinguish lines of one color.
    dash: DASHES[colors.slice(0, at).filter((color) => color === colors[at]).length % DASHES.length],
    ...(open ? { open: open(line) } : {}),
  }));
}

/** Gaps in time, where lines must break: more than 1.6 times the usual step. */
export function breaks(t: number[]): number[] {
  if (t.length < 3) return [];
  const steps = t.slice(1).map((next, at) => next - t[at]!);
  const usual = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)]!;
  return steps.flatMap((step, at) => (step > 1.6 * usual ? [t[at]! + usual / 2] : []));
}

/** The times of all traces in order, including gaps. */
export function times(drawn: Trace[]): number[] {
  const all = new Set<number>();
  for (const trace of drawn) {
    for (const t of trace.t) all.add(t);
    for (const t of breaks(trace.t)) all.add(t);
  }
  return [...all].sort((a, b) => a - b);
}

/** Values at the common times: null at a gap, undefined (bridged) if the trace has no point. */
export function aligned(
  joint: number[],
  trace: Trace,
  values: (number | null)[],
): (number | null | undefined)[] {
  const at = new Map(trace.t.map((t, index) => [t, values[index] ?? null]));
  for (const t of breaks(trace.t)) at.set(t, null);
  return joint.map((t) => at.get(t));
}

/** The indexes of values with no neighbor, which no line shows. Undefined values are bridged. */
export function lone(values: ArrayLike<number | null | undefined>): number[] {
  const places: number[] = [];
  let last: number | null = null;
  let run: number[] = [];
  for (let at = 0; at <= values.length; at += 1) {
    const value = at < values.length ? values[at] : null;
    if (value === undefined) continue;
    if (value !== null) run.push((last = at));
    else {
      if (run.length === 1) places.push(last!);
      run = [];
    }
  }
  return places;
}

/** Smallest and largest value of traces, including bands. */
export function extent(drawn: Trace[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const trace of drawn) {
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

/** Draws the chart for PNG and SVG. */
export function drawLines(
  drawn: Trace[],
  window: [number, number],
  offset: number,
  {
    marks = [],
    most = null,
    unit = null,
  }: { marks?: Mark[]; most?: number | null; unit?: string | null } = {},
): Draw {
  return (painter, width, height, theme) => {
    const scale = lineAxis(extent(drawn), most, Math.max(2, height / 50));
    const { x, y, top, bottom } = timeAxes(painter, width, height, theme, { window, offset, scale });
    painter.clip(LEFT, 0, width - LEFT - RIGHT, height, () => {
      drawMarks(painter, marks, x, [LEFT, width - RIGHT], [top, bottom], theme);
      for (const trace of drawn) {
        const gaps = new Set(breaks(trace.t));
        const points = trace.t.map((t, at) => [t, at] as const);
        const merged = [...points, ...[...gaps].map((t) => [t, -1] as const)].sort((a, b) => a[0] - b[0]);
        let run: [number, number][] = [];
        let above: [number, number][] = [];
        let below: [number, number][] = [];
        const flush = (): void => {
          if (above.length)
            painter.path([...above, ...below.reverse()], { fill: trace.color, opacity: 0.2 }, true);
          // Two sources may report the same value for one time.
          const apart = run.some(([x, y]) => x !== run[0]![0] || y !== run[0]![1]);
          if (apart) painter.path(run, { stroke: trace.color, width: 1.5, dash: trace.dash });
          const dots = apart ? (trace.t.length < FEW ? run : []) : run.slice(0, 1);
          for (const dot of dots) painter.circle(...dot, 2, { fill: trace.color });
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
          run.push([x(t), y(value)]);
          if (trace.low && trace.high) {
            above.push([x(t), y(trace.high[at] ?? value)]);
            below.push([x(t), y(trace.low[at] ?? value)]);
          }
        }
        flush();
      }
      drawValues(painter, drawn, { x, y }, [LEFT, width - RIGHT], bottom, theme, unit);
    });
  };
}

const VALUE_HEIGHT = 12;

/** Moves labels from top to bottom apart, and up from the bottom of the chart. */
export function spread(places: readonly number[], bottom: number): number[] {
  const apart: number[] = [];
  for (const place of places) apart.push(Math.max(place, (apart.at(-1) ?? -Infinity) + VALUE_HEIGHT));
  let limit = bottom - VALUE_HEIGHT / 2;
  for (let at = apart.length - 1; at >= 0; at -= 1) {
    apart[at] = Math.min(apart[at]!, limit);
    limit = apart[at]! - VALUE_HEIGHT;
  }
  return apart;
}

/** Draws the values next to the points of a chart with one time only, above its bottom. */
export function drawValues(
  painter: Painter,
  drawn: Trace[],
  { x, y }: { x: (t: number) => number; y: (value: number) => number },
  [left, right]: [number, number],
  bottom: number,
  theme: Theme,
  unit: string | null,
): void {
  const [time, ...others] = new Set(drawn.flatMap((trace) => trace.t));
  if (time === undefined || others.length || x(time) < left || x(time) > right) return;
  const after = x(time) < (left + right) / 2;
  const all = drawn.flatMap(({ value }) => value.slice(0, 1)).filter((value) => value !== null);
  const values = [...new Set(all)].sort((a, b) => b - a);
  spread(values.map(y), bottom).forEach((place, at) => {
    painter.text(x(time) + (after ? 8 : -8), place, withUnit(formatShort(values[at]!), unit), {
      color: theme.ink,
      align: after ? "left" : "right",
      size: 11,
    });
  });
}

/** The traces as rows for a spreadsheet. */
export function linesTable(
  drawn: Trace[],
  offset: number,
): { columns: string[]; rows: (string | number | null)[][] } {
  const joint = [...new Set(drawn.flatMap((trace) => trace.t))].sort((a, b) => a - b);
  const columns = ["time", "time_utc_s"];
  for (const trace of drawn) {
    columns.push(trace.name);
    if (trace.low) columns.push(`${trace.name} min`, `${trace.name} max`);
  }
  const indexes = drawn.map((trace) => new Map(trace.t.map((t, at) => [t, at])));
  const rows = joint.map((t) => {
    const row: (string | number | null)[] = [dateTime(t, offset), t];
    drawn.forEach((trace, n) => {
      const at = indexes[n]!.get(t);
      row.push(at === undefined ? null : (trace.value[at] ?? null));
      if (trace.low) row.push(at === undefined ? null : (trace.low[at] ?? null));
      if (trace.low) row.push(at === undefined ? null : (trace.high?.[at] ?? null));
    });
    return row;
  });
  return { columns, rows };
}
