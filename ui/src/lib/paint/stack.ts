/** Stacked parts, over time or by subject. */

import { segment, type Region, type Painter } from "./painter";
import { timeAxes, LEFT, RIGHT, axis } from "./axes";
import { timeRange } from "../time/format";
import { formatPrecise, formatTick, withUnit } from "../text/numbers";
import { drawMarks } from "./marks";
import type { Mark } from "../time/mark";
import type { Theme } from "./palette";

export interface Layer {
  name: string;
  color: string;
  /** Description for the legend's tooltip. */
  text?: string;
  value: (number | null)[];
  /** Hatched: it belongs to no known subject. Faint: nothing used it. */
  look?: "hatched" | "faint";
}

/** Start and end of each part of a stack; null for a missing part, which occupies no space. */
export function piled(values: (number | null)[]): ([number, number] | null)[] {
  let sum = 0;
  return values.map((value) => {
    if (value === null) return null;
    const low = sum;
    sum += Math.max(0, value);
    return [low, sum];
  });
}

/** Height of a stack; null if no part is known. */
export function height(values: (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((a, b) => a + Math.max(0, b), 0) : null;
}

/** Height of the highest stack. */
export function highest(layers: Layer[]): number {
  const count = Math.max(0, ...layers.map((layer) => layer.value.length));
  let most = 0;
  for (let at = 0; at < count; at += 1)
    most = Math.max(most, height(layers.map((layer) => layer.value[at] ?? null)) ?? 0);
  return most;
}

/** Stacks over time; each covers the interval that ends at its time. */
export interface StackedSeries {
  t: number[];
  /** The length of each interval in seconds. */
  seconds: number[];
  layers: Layer[];
  unit: string | null;
  /** A line above the stacks that steps at interval ends. */
  limit?: { name: string; value: (number | null)[] } | null;
  /** Extra lines for a stack's tooltip. */
  more?: (at: number) => string[];
}

/** Height of the labels of marks. */
const LABELS = 16;

interface TimeFrame {
  window: [number, number];
  offset: number;
  most?: number | null;
  marks?: Mark[];
}

export function drawStackedSeries(
  painter: Painter,
  width: number,
  high: number,
  theme: Theme,
  course: StackedSeries,
  around: TimeFrame,
): Region[] {
  const { t, seconds, layers, unit, limit = null } = course;
  const { window, offset, most = 0, marks = [] } = around;
  const scale = axis(
    0,
    Math.max(highest(layers), most ?? 0, ...known(limit?.value ?? [])),
    Math.max(2, high / 50),
  );
  // Labels of marks would cover stacks that reach the top.
  const above = marks.length ? LABELS : null;
  const { x, y, top, bottom } = timeAxes(painter, width, high, theme, {
    window,
    offset,
    scale,
    ...(above === null ? {} : { top: above }),
  });
  const regions: Region[] = [];
  painter.clip(LEFT, 0, width - LEFT - RIGHT, high, () => {
    t.forEach((end, at) => {
      const start = end - seconds[at]!;
      const left = x(start);
      const wide = Math.max(1, x(end) - left - (x(end) - left > 5 ? 1 : 0));
      if (left + wide < LEFT || left > width - RIGHT) return;
      const values = layers.map((layer) => layer.value[at] ?? null);
      const pile = piled(values);
      if (pile.every((ends) => ends === null)) painter.hatch(left, top, wide, bottom - top, theme.faint);
      pile.forEach((ends, n) => {
        if (ends) part(painter, layers[n]!, [left, y(ends[1]), wide, y(ends[0]) - y(ends[1])]);
      });
      regions.push({
        x: left,
        y: top,
        width: wide,
        height: bottom - top,
        lines: [
          timeRange(start, end, offset),
          ...(limit ? [reading(limit.name, limit.value[at] ?? null, unit)] : []),
          ...layers.map((layer, n) => reading(layer.name, values[n] ?? null, unit)),
          ...(course.more?.(at) ?? []),
        ],
      });
    });
    drawMarks(painter, marks, x, [LEFT, width - RIGHT], [above === null ? top : 2, bottom], theme);
    for (const line of steps(t, seconds, limit?.value ?? []))
      painter.path(
        line.map(([time, value]) => [x(time), y(value)]),
        { stroke: theme.ink, width: 1.5 },
      );
  });
  return regions;
}

const known = (values: (number | null)[]): number[] => values.filter((value) => value !== null);

function part(
  painter: Painter,
  { color, look }: Layer,
  [x, y, w, h]: [number, number, number, number],
): void {
  if (look === "hatched") {
    painter.rect(x, y, w, h, { fill: color, opacity: 0.12 });
    painter.hatch(x, y, w, h, color);
  } else painter.rect(x, y, w, h, { fill: color, ...(look === "faint" ? { opacity: 0.18 } : {}) });
}

/** Lines through the known values of intervals that end at `t`; a gap in time or an unknown value ends one. */
export function steps(t: number[], seconds: number[], values: (number | null)[]): [number, number][][] {
  const lines: [number, number][][] = [];
  let end = -Infinity;
  t.forEach((time, at) => {
    const value = values[at] ?? null;
    if (value === null) return;
    const start = time - seconds[at]!;
    if (lines.length === 0 || start - end > seconds[at]! / 2) lines.push([]);
    lines.at(-1)!.push([Math.max(start, end), value], [time, value]);
    end = time;
  });
  return lines;
}

/** What the other parts leave of a sum at each time; null if the sum is unknown. */
export function remainder(whole: (number | null)[], layers: Layer[]): (number | null)[] {
  return whole.map((sum, at) =>
    sum === null ? null : layers.reduce((rest, { value }) => rest - (value[at] ?? 0), sum),
  );
}

export interface Bar {
  label: string;
  /** One value per layer. */
  values: (number | null)[];
  chosen?: boolean;
  more?: string[];
  open?: () => void;
}

/** The height of a bar, smaller if there are many. */
export const barHeight = (count: number): number => (count > 20 ? 14 : 20);

/** Draws horizontal bars, one per subject. */
export function drawBars(
  painter: Painter,
  width: number,
  theme: Theme,
  bars: Bar[],
  layers: { name: string; color: string }[],
  unit: string | null,
  most: number | null = null,
): Region[] {
  const label = Math.min(130, 14 + Math.max(20, ...bars.map((bar) => painter.measure(bar.label, 11))));
  const scale = axis(
    0,
    Math.max(most ?? 0, ...bars.map((bar) => height(bar.values) ?? 0)),
    Math.max(2, Math.min(6, width / 90)),
  );
  const x = (value: number): number => label + (value / scale.high) * (width - label - RIGHT);
  const BAR = barHeight(bars.length);
  const foot = bars.length * BAR;
  for (const tick of scale.ticks) {
    segment(painter, [x(tick), 0], [x(tick), foot], { stroke: theme.grid });
    const edge = x(tick) > width - 16;
    painter.text(edge ? width - 2 : x(tick), foot + 10, formatTick(tick), {
      color: theme.faint,
      align: edge ? "right" : "center",
      size: 11,
    });
  }
  const GAP = BAR < 20 ? 1 : 3;
  return bars.map((bar, row) => {
    const top = row * BAR;
    if (bar.chosen) painter.rect(0, top, width, BAR, { fill: theme.accent, opacity: 0.15 });
    painter.text(label - 8, top + BAR / 2, bar.label, {
      color: theme.ink,
      align: "right",
      size: 11,
      bold: bar.chosen ?? false,
    });
    const pile = piled(bar.values);
    if (pile.every((ends) => ends === null))
      painter.hatch(label, top + GAP, width - label - RIGHT, BAR - 2 * GAP, theme.faint);
    pile.forEach((ends, n) => {
      if (ends)
        painter.rect(x(ends[0]), top + GAP, x(ends[1]) - x(ends[0]), BAR - 2 * GAP, {
          fill: layers[n]!.color,
        });
    });
    return {
      x: 0,
      y: top,
      width,
      height: BAR,
      lines: [
        bar.label,
        ...layers.map((layer, n) => reading(layer.name, bar.values[n] ?? null, unit)),
        ...(bar.more ?? []),
      ],
      open: bar.open,
    };
  });
}

/** A name and its value, as in tooltips. */
export function reading(name: string, value: number | null, unit: string | null): string {
  return `${name}: ${withUnit(formatPrecise(value), unit)}`;
}
