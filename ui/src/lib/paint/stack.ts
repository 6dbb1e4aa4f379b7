/** Parts piled on each other, over time or by subject: where each begins and ends, and how they are drawn. */

import { clock, dateTime, tickLabel } from "../time/format";
import { exact, withUnit } from "../text/numbers";
import type { Region, Painter } from "./painter";
import { LEFT, RIGHT } from "./lines";
import { axis } from "./axes";
import { timeTicks } from "../time/ticks";
import { tone, type Theme } from "./palette";

export interface Layer {
  name: string;
  colour: string;
  /** What the part is, for the legend's hover. */
  text?: string;
  value: (number | null)[];
}

/** Begin and end of each part of one pile; null for a part that is not computable, which takes no room. */
export function piled(values: (number | null)[]): ([number, number] | null)[] {
  let sum = 0;
  return values.map((value) => {
    if (value === null) return null;
    const low = sum;
    sum += Math.max(0, value);
    return [low, sum];
  });
}

/** Height of a pile; null where none of its parts is known. */
export function height(values: (number | null)[]): number | null {
  const known = values.filter((one) => one !== null);
  return known.length ? known.reduce((a, b) => a + Math.max(0, b), 0) : null;
}

/** The highest pile. */
export function highest(layers: Layer[]): number {
  const count = Math.max(0, ...layers.map((one) => one.value.length));
  let most = 0;
  for (let at = 0; at < count; at += 1)
    most = Math.max(most, height(layers.map((one) => one.value[at] ?? null)) ?? 0);
  return most;
}

/** Where the known times begin and end: a pile stands for the interval that ends at its time. */
export interface Course {
  t: number[];
  /** Seconds that a pile covers. */
  seconds: number;
  layers: Layer[];
  unit: string | null;
  /** More lines for the hover of a pile. */
  more?: (at: number) => string[];
}

interface Around {
  window: [number, number];
  offset: number;
  most?: number | null;
  marks?: { t: number; colour: string }[];
}

export function drawCourse(
  painter: Painter,
  width: number,
  high: number,
  theme: Theme,
  course: Course,
  around: Around,
): Region[] {
  const { t, seconds, layers, unit } = course;
  const [from, to] = around.window;
  const y = axis(0, Math.max(highest(layers), around.most ?? 0), Math.max(2, high / 50));
  const bottom = high - 22;
  const x = (at: number): number => LEFT + ((at - from) / Math.max(1e-9, to - from)) * (width - LEFT - RIGHT);
  const up = (value: number): number => 8 + ((y.high - value) / (y.high - y.low)) * (bottom - 8);
  for (const tick of y.ticks) {
    painter.path(
      [
        [LEFT, up(tick)],
        [width - RIGHT, up(tick)],
      ],
      { stroke: theme.grid },
    );
    painter.text(LEFT - 6, up(tick), String(tick), { colour: theme.faint, align: "right", size: 11 });
  }
  for (const tick of timeTicks(from, to, around.offset, width / 110)) {
    // The last one would be cut off at the edge.
    const edge = x(tick) > width - 18;
    const words = tickLabel(tick, from, to, around.offset);
    painter.text(edge ? width - 2 : x(tick), bottom + 12, words, {
      colour: theme.faint,
      align: edge ? "right" : "center",
      size: 11,
    });
  }
  const regions: Region[] = [];
  painter.clip(LEFT, 0, width - LEFT - RIGHT, high, () => {
    t.forEach((end, at) => {
      const left = x(end - seconds);
      const wide = Math.max(1, x(end) - left - (x(end) - left > 5 ? 1 : 0));
      if (left + wide < LEFT || left > width - RIGHT) return;
      const values = layers.map((one) => one.value[at] ?? null);
      const pile = piled(values);
      if (pile.every((one) => one === null)) painter.hatch(left, 8, wide, bottom - 8, theme.faint);
      pile.forEach((one, n) => {
        if (one) painter.rect(left, up(one[1]), wide, up(one[0]) - up(one[1]), { fill: layers[n]!.colour });
      });
      regions.push({
        x: left,
        y: 8,
        width: wide,
        height: bottom - 8,
        lines: [
          `${dateTime(end - seconds, around.offset)} to ${clock(end, around.offset)}`,
          ...layers.map((one, n) => told(one.name, values[n] ?? null, unit)),
          ...(course.more?.(at) ?? []),
        ],
      });
    });
    for (const mark of around.marks ?? []) {
      painter.path(
        [
          [x(mark.t), 8],
          [x(mark.t), bottom],
        ],
        { stroke: tone(theme, mark.colour), dash: [3, 3] },
      );
    }
  });
  return regions;
}

export interface Bar {
  label: string;
  /** One value per layer. */
  values: (number | null)[];
  chosen?: boolean;
  more?: string[];
  open?: () => void;
}

export const BAR = 20;

/** Lying bars, one per subject. */
export function drawBars(
  painter: Painter,
  width: number,
  theme: Theme,
  bars: Bar[],
  layers: { name: string; colour: string }[],
  unit: string | null,
  most: number | null = null,
): Region[] {
  const label = Math.min(130, 14 + Math.max(20, ...bars.map((one) => painter.measure(one.label, 11))));
  const scale = axis(
    0,
    Math.max(most ?? 0, ...bars.map((one) => height(one.values) ?? 0)),
    Math.max(2, Math.min(6, width / 90)),
  );
  const x = (value: number): number => label + (value / scale.high) * (width - label - RIGHT);
  const foot = bars.length * BAR;
  for (const tick of scale.ticks) {
    painter.path(
      [
        [x(tick), 0],
        [x(tick), foot],
      ],
      { stroke: theme.grid },
    );
    const edge = x(tick) > width - 16;
    painter.text(edge ? width - 2 : x(tick), foot + 10, String(tick), {
      colour: theme.faint,
      align: edge ? "right" : "center",
      size: 11,
    });
  }
  return bars.map((bar, row) => {
    const top = row * BAR;
    if (bar.chosen) painter.rect(0, top, width, BAR, { fill: theme.accent, opacity: 0.15 });
    painter.text(label - 8, top + BAR / 2, bar.label, {
      colour: theme.ink,
      align: "right",
      size: 11,
      bold: bar.chosen ?? false,
    });
    const pile = piled(bar.values);
    if (pile.every((one) => one === null))
      painter.hatch(label, top + 3, width - label - RIGHT, BAR - 6, theme.faint);
    pile.forEach((one, n) => {
      if (one) painter.rect(x(one[0]), top + 3, x(one[1]) - x(one[0]), BAR - 6, { fill: layers[n]!.colour });
    });
    return {
      x: 0,
      y: top,
      width,
      height: BAR,
      lines: [
        bar.label,
        ...layers.map((one, n) => told(one.name, bar.values[n] ?? null, unit)),
        ...(bar.more ?? []),
      ],
      open: bar.open,
    };
  });
}

/** A name and its value as a hover tells it. */
export function told(name: string, value: number | null, unit: string | null): string {
  return `${name}: ${value === null ? exact(null) : withUnit(exact(value), unit)}`;
}
