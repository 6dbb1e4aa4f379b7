/** Draws charts that the server describes. */

import { horizontalGrid, verticalGrid, axis } from "../lib/paint/axes";
import { reading } from "../lib/paint/stack";
import { formatPrecise, formatShort, formatTick } from "../lib/text/numbers";
import type { ColoredChart } from "./serverChart";
import type { Region, Painter } from "../lib/paint/painter";
import type { Theme } from "../lib/paint/palette";

const BAR = 13;

const GAP = 9;

const TOP = 4;

export const serverChartHeight = (chart: ColoredChart): number =>
  chart.kind === "bars" ? TOP + chart.places.length * (chart.series.length * BAR + GAP) + 22 : 280;

export function drawServerChart(
  painter: Painter,
  width: number,
  height: number,
  theme: Theme,
  chart: ColoredChart,
): Region[] {
  return chart.kind === "bars"
    ? bars(painter, width, theme, chart)
    : courses(painter, width, height, theme, chart);
}

/** Grouped horizontal bars. */
function bars(painter: Painter, width: number, theme: Theme, chart: ColoredChart): Region[] {
  const labels = chart.places.map(String);
  const left = Math.min(width * 0.35, Math.max(40, ...labels.map((words) => painter.measure(words))) + 10);
  const right = 66;
  const known = chart.series.flatMap((series) => series.values).filter((value) => value !== null);
  const low = Math.min(0, ...known);
  const high = Math.max(low + 1e-9, 0, ...known);
  const ticks = axis(low, high, Math.max(2, width / 140)).ticks.filter((tick) => tick >= low && tick <= high);
  const x = (value: number): number => left + ((value - low) / (high - low)) * (width - left - right);
  const pitch = chart.series.length * BAR + GAP;
  const bottom = TOP + labels.length * pitch;
  verticalGrid(painter, theme, ticks, x, [TOP, bottom]);
  return labels.map((label, at) => {
    const y = TOP + at * pitch;
    painter.clip(0, y, left - 4, pitch, () =>
      painter.text(left - 8, y + (pitch - GAP) / 2 + 2, label, { color: theme.ink, align: "right" }),
    );
    chart.series.forEach((series, number) => {
      const value = series.values[at] ?? null;
      const high = y + 2 + number * BAR;
      if (value === null) {
        painter.hatch(x(0), high, 40, BAR - 3, theme.faint);
        return;
      }
      const [from, to] = [Math.min(x(0), x(value)), Math.max(x(0), x(value))];
      painter.rect(from, high, Math.max(1, to - from), BAR - 3, { fill: series.color });
      painter.text(to + 4, high + BAR / 2 - 1, formatShort(value), { color: theme.faint, size: 11 });
    });
    return {
      x: 0,
      y,
      width,
      height: pitch,
      lines: [
        label,
        ...chart.series.map((series) => reading(series.name, series.values[at] ?? null, chart.unit)),
      ],
    };
  });
}

/** Lines over a numeric axis. */
function courses(
  painter: Painter,
  width: number,
  height: number,
  theme: Theme,
  chart: ColoredChart,
): Region[] {
  const places = chart.places.map(Number);
  const left = 62;
  const right = 14;
  const bottom = height - 36;
  const known = chart.series.flatMap((series) => series.values).filter((value) => value !== null);
  const scale = axis(Math.min(0, ...known), Math.max(0, ...known), Math.max(3, bottom / 45));
  const [first, last] = [Math.min(...places), Math.max(...places)];
  const x = (value: number): number =>
    left + ((value - first) / Math.max(1e-12, last - first)) * (width - left - right);
  const y = (value: number): number => 8 + ((scale.high - value) / (scale.high - scale.low)) * (bottom - 8);
  horizontalGrid(painter, theme, scale.ticks, y, [left, width - right], true);
  for (const tick of axis(first, last, Math.max(4, width / 90)).ticks) {
    if (tick < first || tick > last) continue;
    painter.text(x(tick), bottom + 12, formatTick(tick), { color: theme.faint, align: "center", size: 11 });
  }
  if (chart.along) {
    painter.text((left + width - right) / 2, height - 8, chart.along, {
      color: theme.faint,
      align: "center",
      size: 11,
    });
  }
  chart.series.forEach((series) => {
    let run: [number, number][] = [];
    const flush = (): void => {
      if (run.length > 1) painter.path(run, { stroke: series.color, width: 1.8 });
      if (run.length === 1 || (run.length && places.length <= 30)) {
        for (const [px, py] of run) painter.circle(px, py, 2.4, { fill: series.color });
      }
      run = [];
    };
    places.forEach((place, at) => {
      const value = series.values[at] ?? null;
      if (value === null) flush();
      else run.push([x(place), y(value)]);
    });
    flush();
  });
  const slice = (width - left - right) / Math.max(1, places.length);
  return places.map((place, at) => ({
    x: x(place) - slice / 2,
    y: 0,
    width: slice,
    height,
    lines: [
      chart.along ? `${chart.along}: ${formatPrecise(Number(place))}` : String(place),
      ...chart.series.map((series) => reading(series.name, series.values[at] ?? null, chart.unit)),
    ],
  }));
}
