/** Scenarios and answers of models: settings of the address, sliders, and drawings of what is answered. */

import type { Cell, ModelAnswer } from "../../lib/api/api";
import { DOTS } from "../../lib/text/format";
import type { Region } from "../../lib/page/hover.svelte";
import { axis, type Painter } from "../../lib/paint/painter";
import { category, type Theme } from "../../lib/paint/palette";

export type AnswerChart = ModelAnswer["charts"][number];
export type AnswerTable = ModelAnswer["tables"][number];

/** A number of a scenario: how --set calls it, and what it may be. */
export interface ScenarioNumber {
  path: string;
  value: number;
  low: number | null;
  high: number | null;
  above: boolean;
  whole: boolean;
  unit: string;
  text: string;
  allowed: string;
}

/** A longer scenario does not fit into an address that every program takes. */
export const LONGEST_LINK = 6000;

/** Settings as they stand in the address: one in a line. */
export const linesOf = (text: string | null): string[] =>
  (text ?? "")
    .split("\n")
    .map((one) => one.trim())
    .filter(Boolean);

export const joined = (lines: readonly string[]): string | null => (lines.length ? lines.join("\n") : null);

export const keyOf = (setting: string): string => setting.split("=", 1)[0]!.trim();

/** The settings with another value of a key, at the place where it stood. */
export function withSetting(settings: readonly string[], key: string, value: string | null): string[] {
  const at = settings.findIndex((one) => keyOf(one) === key);
  if (value === null) return settings.filter((one) => keyOf(one) !== key);
  const next = `${key}=${value}`;
  return at < 0 ? [...settings, next] : settings.map((one, place) => (place === at ? next : one));
}

/** The value of a key in the settings, where it is a number. */
export function settingOf(settings: readonly string[], key: string): number | null {
  const found = settings.find((one) => keyOf(one) === key);
  if (found === undefined) return null;
  const value = Number(found.slice(found.indexOf("=") + 1));
  return Number.isFinite(value) ? value : null;
}

/**
 * Where a slider runs: all that is allowed where that is no more than some hundred steps or so around the value,
 * else from nothing to a few times what stands there, so that a hand can hit it.
 */
export function sliderOf(one: ScenarioNumber, now: number): { min: number; max: number; step: number } {
  const size = Math.max(Math.abs(one.value), one.whole ? 1 : 1e-6);
  let max = 4 * size;
  let min = one.value < 0 ? -4 * size : 0;
  if (one.high !== null && one.high <= 12 * size) max = one.high;
  if (one.high !== null) max = Math.min(max, one.high);
  if (one.low !== null) min = Math.max(min, one.low);
  max = Math.max(max, now);
  min = Math.min(min, now);
  if (max <= min) max = min + (one.whole ? 1 : size);
  let step = 10 ** Math.floor(Math.log10((max - min) / 100));
  if (one.whole) step = Math.max(1, Math.round(step));
  // A limit that is itself not allowed is one step away.
  if (one.above && one.low !== null && min <= one.low) min = one.low + step;
  return { min, max, step: Number(step.toPrecision(6)) };
}

/** A value of a slider as --set takes it: without the noise of binary fractions. */
export const settled = (value: number): string => String(Number(value.toPrecision(10)));

/** As `zlens solve` prints it. */
export function printedAs(value: Cell, decimals: number, whole = false): string {
  if (value === null) return DOTS;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  const digits = whole ? 0 : decimals;
  return (Number(value.toFixed(digits)) + 0).toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

const SHORT = 60;
const BAR = 13;
const GAP = 9;
const TOP = 4;

/** The first places of a chart of bars; more would not be read. */
export function cutBars(chart: AnswerChart): AnswerChart {
  if (chart.places.length <= SHORT) return chart;
  const series = chart.series.map((one) => ({ ...one, values: one.values.slice(0, SHORT) }));
  return { ...chart, places: chart.places.slice(0, SHORT), series };
}

export const answerHeight = (chart: AnswerChart): number =>
  chart.kind === "bars" ? TOP + chart.places.length * (chart.series.length * BAR + GAP) + 22 : 280;

export const legendOf = (chart: AnswerChart): { name: string; colour: string }[] =>
  chart.series.map((one, at) => ({ name: one.name, colour: category(at) }));

export function drawAnswer(
  painter: Painter,
  width: number,
  height: number,
  theme: Theme,
  chart: AnswerChart,
): Region[] {
  return chart.kind === "bars"
    ? bars(painter, width, theme, chart)
    : courses(painter, width, height, theme, chart);
}

const told = (value: number | null, unit: string): string =>
  value === null ? "not computable" : `${value}${unit ? ` ${unit}` : ""}`;

const shortly = (value: number): string =>
  value.toLocaleString("en-US", { maximumSignificantDigits: Math.abs(value) >= 1000 ? 5 : 4 });

/** Lying bars, those of one place together. */
function bars(painter: Painter, width: number, theme: Theme, chart: AnswerChart): Region[] {
  const labels = chart.places.map(String);
  const left = Math.min(width * 0.35, Math.max(40, ...labels.map((words) => painter.measure(words))) + 10);
  const right = 66;
  const known = chart.series.flatMap((one) => one.values).filter((value) => value !== null);
  const low = Math.min(0, ...known);
  const high = Math.max(low + 1e-9, 0, ...known);
  const ticks = axis(low, high, Math.max(2, width / 140)).ticks.filter((tick) => tick >= low && tick <= high);
  const x = (value: number): number => left + ((value - low) / (high - low)) * (width - left - right);
  const each = chart.series.length * BAR + GAP;
  const bottom = TOP + labels.length * each;
  for (const tick of ticks) {
    painter.path(
      [
        [x(tick), TOP],
        [x(tick), bottom],
      ],
      { stroke: tick === 0 ? theme.faint : theme.grid },
    );
    painter.text(x(tick), bottom + 11, shortly(tick), { colour: theme.faint, align: "center", size: 11 });
  }
  return labels.map((label, at) => {
    const y = TOP + at * each;
    painter.clip(0, y, left - 4, each, () =>
      painter.text(left - 8, y + (each - GAP) / 2 + 2, label, { colour: theme.ink, align: "right" }),
    );
    chart.series.forEach((one, number) => {
      const value = one.values[at] ?? null;
      const high = y + 2 + number * BAR;
      if (value === null) {
        painter.hatch(x(0), high, 40, BAR - 3, theme.faint);
        return;
      }
      const [from, to] = [Math.min(x(0), x(value)), Math.max(x(0), x(value))];
      painter.rect(from, high, Math.max(1, to - from), BAR - 3, { fill: category(number) });
      painter.text(to + 4, high + BAR / 2 - 1, shortly(value), { colour: theme.faint, size: 11 });
    });
    return {
      x: 0,
      y,
      width,
      height: each,
      lines: [
        label,
        ...chart.series.map((one) => `${one.name}: ${told(one.values[at] ?? null, chart.unit)}`),
      ],
    };
  });
}

/** Lines along numbers. */
function courses(
  painter: Painter,
  width: number,
  height: number,
  theme: Theme,
  chart: AnswerChart,
): Region[] {
  const places = chart.places.map(Number);
  const left = 62;
  const right = 14;
  const bottom = height - 36;
  const known = chart.series.flatMap((one) => one.values).filter((value) => value !== null);
  const scale = axis(Math.min(0, ...known), Math.max(0, ...known), Math.max(3, bottom / 45));
  const [first, last] = [Math.min(...places), Math.max(...places)];
  const x = (value: number): number =>
    left + ((value - first) / Math.max(1e-12, last - first)) * (width - left - right);
  const y = (value: number): number => 8 + ((scale.high - value) / (scale.high - scale.low)) * (bottom - 8);
  for (const tick of scale.ticks) {
    painter.path(
      [
        [left, y(tick)],
        [width - right, y(tick)],
      ],
      { stroke: tick === 0 ? theme.faint : theme.grid },
    );
    painter.text(left - 6, y(tick), shortly(tick), { colour: theme.faint, align: "right", size: 11 });
  }
  for (const tick of axis(first, last, Math.max(4, width / 90)).ticks) {
    if (tick < first || tick > last) continue;
    painter.text(x(tick), bottom + 12, shortly(tick), { colour: theme.faint, align: "center", size: 11 });
  }
  if (chart.along) {
    painter.text((left + width - right) / 2, height - 8, chart.along, {
      colour: theme.faint,
      align: "center",
      size: 11,
    });
  }
  chart.series.forEach((one, number) => {
    let run: [number, number][] = [];
    const flush = (): void => {
      if (run.length > 1) painter.path(run, { stroke: category(number), width: 1.8 });
      if (run.length === 1 || (run.length && places.length <= 30)) {
        for (const [px, py] of run) painter.circle(px, py, 2.4, { fill: category(number) });
      }
      run = [];
    };
    places.forEach((place, at) => {
      const value = one.values[at] ?? null;
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
      `${chart.along || "at"}: ${place}`,
      ...chart.series.map((one) => `${one.name}: ${told(one.values[at] ?? null, chart.unit)}`),
    ],
  }));
}

/** What a chart shows, as rows. */
export function chartRows(chart: AnswerChart): { columns: string[]; rows: Cell[][] } {
  return {
    columns: [chart.along || "place", ...chart.series.map((one) => one.name)],
    rows: chart.places.map((place, at) => [place, ...chart.series.map((one) => one.values[at] ?? null)]),
  };
}

const MOST_BESIDE = 40;
/** Differences below this are of arithmetic. */
const ROUNDING = 1e-6;

/** Before and after as charts, of the tables of an answer in which something changes. */
export function changes(answer: ModelAnswer): AnswerChart[] {
  return answer.tables.flatMap((table) => {
    const at = (key: string): number => table.columns.findIndex((column) => column.key === key);
    const [before, after, kind] = [at("before"), at("after"), at("type")];
    if (before < 0 || after < 0 || table.columns[before]!.unit !== table.columns[after]!.unit) return [];
    const off = (row: Cell[]): number => {
      const [a, b] = [row[before], row[after]];
      return typeof a === "number" && typeof b === "number" ? Math.abs(b - a) : 0;
    };
    const kinds = new Set(table.rows.map((row) => row[kind]));
    const rows = table.rows
      .filter((row) => off(row) > ROUNDING)
      .sort((a, b) => off(b) - off(a))
      .slice(0, MOST_BESIDE);
    const units = table.columns.findIndex((column) => column.key === "unit");
    // Rows in different units are no bars of one chart.
    if (!rows.length || units >= 0) return [];
    const named = (row: Cell[]): string =>
      kinds.size > 1 && kind > 0 ? `${String(row[0])} ${String(row[kind])}` : String(row[0]);
    const values = (column: number): (number | null)[] =>
      rows.map((row) => (typeof row[column] === "number" ? row[column] : null));
    return [
      {
        title: table.title,
        kind: "bars" as const,
        places: rows.map(named),
        series: [
          { name: "before", values: values(before) },
          { name: "after", values: values(after) },
        ],
        unit: table.columns[before]!.unit,
        along: "",
      },
    ];
  });
}

/**
 * Expected beside observed as a chart, from a table that has both and no chart of its own: the largest errors
 * first.
 */
export function beside(answer: ModelAnswer): AnswerChart[] {
  for (const table of answer.tables) {
    const at = (key: string): number => table.columns.findIndex((column) => column.key === key);
    const [expected, observed, error] = [at("expected"), at("observed"), at("error")];
    if (expected < 0 || observed < 0) continue;
    const number = (value: Cell | undefined): number | null => (typeof value === "number" ? value : null);
    const kind = at("type");
    const kinds = new Set(table.rows.map((row) => row[kind]));
    const rows = table.rows
      .filter((row) => number(row[expected]) !== null || number(row[observed]) !== null)
      .sort((a, b) => Math.abs(number(b[error]) ?? 0) - Math.abs(number(a[error]) ?? 0))
      .slice(0, MOST_BESIDE);
    if (!rows.length) continue;
    const signed = (value: number): string => `${value > 0 ? "+" : ""}${value.toFixed(1)}`;
    const chart: AnswerChart = {
      title: "Expected beside observed",
      kind: "bars",
      places: rows.map((row) => {
        const name = kinds.size > 1 ? `${String(row[0])} ${String(row[kind])}` : String(row[0]);
        const off = number(row[error]);
        return off === null || Math.abs(off) < 0.05 ? name : `${name} (${signed(off)})`;
      }),
      series: [
        { name: "expected", values: rows.map((row) => number(row[expected])) },
        { name: "observed", values: rows.map((row) => number(row[observed])) },
      ],
      unit: table.columns[expected]!.unit,
      along: "",
    };
    return [chart];
  }
  return [];
}
