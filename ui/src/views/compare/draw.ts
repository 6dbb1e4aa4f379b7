/** Draws differences and waterfalls. */

import { horizontalGrid, verticalGrid, axis } from "../../lib/paint/axes";
import { reading } from "../../lib/paint/stack";
import { segment, type Region, type Painter } from "../../lib/paint/painter";
import { type Difference, type Waterfall, verdict, result, nameOf, noisePercent } from "./comparison";
import { formatChange, formatPrecise, formatShort, withUnit } from "../../lib/text/numbers";
import { CATEGORIES, type Theme } from "../../lib/paint/palette";

export const BASE = CATEGORIES[0];

export const OTHER = CATEGORIES[1];

/** Height of a row in pixels. */
export const ROW = 22;

const BARS_TOP = 8;

export const barsHeight = (count: number): number => count * ROW + BARS_TOP + 22;

/** Draws horizontal bars in percent of the base around 0, with the noise as a gray band under each. */
export function drawDifferences(
  painter: Painter,
  width: number,
  theme: Theme,
  rows: readonly Difference[],
  open: (difference: Difference) => void = () => undefined,
): Region[] {
  const labels = rows.map(nameOf);
  const wide = Math.min(width * 0.4, Math.max(60, ...labels.map((words) => painter.measure(words, 12))) + 12);
  const values = rows.map((row) => row.percent ?? 0);
  const right =
    Math.max(40, ...values.map((value) => painter.measure(`${formatChange(value, 1)}%`, 11))) + 10;
  // Labels of negative bars are between the names and the bars.
  const left = wide + (values.some((value) => value < 0) ? 56 : 4);
  // A metric that grew from nearly nothing must not flatten all others, least of all those beyond the noise.
  const sizes = values.map(Math.abs).sort((a, b) => b - a);
  const sure = rows.flatMap((row, at) => (verdict(row) === "beyond" ? [Math.abs(values[at]!)] : []));
  const most = sure.length ? Math.max(...sure) : (sizes[3] ?? Infinity);
  const cut = Math.min(sizes[0] ?? 1, Math.max(4 * most, 1));
  const low = Math.max(-cut, Math.min(0, ...values));
  const high = Math.max(Math.min(cut, Math.max(0, ...values)), low + 1e-9);
  const ticks = axis(low, high, width / 130).ticks.filter((tick) => tick >= low && tick <= high);
  const x = (value: number): number =>
    left + ((Math.min(high, Math.max(low, value)) - low) / (high - low)) * (width - left - right);
  const bottom = BARS_TOP + rows.length * ROW;
  verticalGrid(painter, theme, ticks, x, [BARS_TOP, bottom], (tick) => formatChange(tick));
  return rows.map((row, at) => {
    const y = BARS_TOP + at * ROW;
    const value = row.percent ?? 0;
    const gray = noisePercent(row);
    if (gray !== null) {
      painter.rect(x(-gray), y + 2, x(gray) - x(-gray), ROW - 4, { fill: theme.faint, opacity: 0.2 });
    }
    const [from, to] = [Math.min(x(0), x(value)), Math.max(x(0), x(value))];
    const color = tint(row);
    const sure = verdict(row);
    if (sure === "untested") {
      painter.hatch(from, y + 5, Math.max(1, to - from), ROW - 10, color);
      painter.rect(from, y + 5, Math.max(1, to - from), ROW - 10, { stroke: color });
    } else {
      painter.rect(from, y + 5, Math.max(1, to - from), ROW - 10, {
        fill: color,
        opacity: sure === "beyond" ? 1 : 0.35,
      });
    }
    painter.clip(0, y, wide - 4, ROW, () =>
      painter.text(wide - 8, y + ROW / 2, labels[at]!, { color: theme.ink, align: "right" }),
    );
    if (value > high * (1 + 1e-9) || value < low * (1 + 1e-9)) {
      // The bar is truncated, as a gap shows.
      const gap = value < 0 ? from + 14 : to - 20;
      segment(painter, [gap, y + ROW - 3], [gap + 6, y + 3], { stroke: theme.paper, width: 4 });
    }
    const end = value < 0 ? from - 4 : to + 4;
    painter.text(end, y + ROW / 2, `${formatChange(value, 1)}%`, {
      color: theme.ink,
      align: value < 0 ? "right" : "left",
      size: 11,
    });
    return {
      x: 0,
      y,
      width,
      height: ROW,
      lines: [
        nameOf(row),
        reading(row.base, row.base_value, row.unit),
        reading(row.other, row.other_value, row.unit),
        result(row) +
          (row.p === null ? ` (${row.not_tested ?? "no samples"})` : `, p = ${formatShort(row.p)}`),
      ],
      open: () => open(row),
    };
  });
}

/** Colors for better, worse, or neither, without red and green. */
export function tint(difference: Difference): string {
  return difference.better === null ? CATEGORIES[6] : difference.better ? CATEGORIES[2] : CATEGORIES[5];
}

/** Draws a waterfall from one value to the other. */
export function drawWaterfall(
  painter: Painter,
  width: number,
  height: number,
  theme: Theme,
  waterfall: Waterfall,
): Region[] {
  const left = 56;
  const bottom = height - 40;
  const top = 18;
  let level = waterfall.start;
  const steps = waterfall.parts.map((part) => {
    const before = level;
    level += part.change;
    return { ...part, from: before, to: level };
  });
  const heights = [waterfall.start, waterfall.end, ...steps.flatMap((step) => [step.from, step.to])];
  const [least, most] = [Math.min(...heights), Math.max(...heights)];
  // Bars from 0 would hide a small change, so the axis is truncated, and labeled as such.
  const cut = least > 0 && most - least < 0.25 * most;
  const scale = axis(
    cut ? least - (most - least) : Math.min(0, least),
    most,
    Math.max(2, (bottom - top) / 45),
  );
  const up = (value: number): number =>
    top + ((scale.high - Math.max(scale.low, value)) / (scale.high - scale.low)) * (bottom - top);
  horizontalGrid(painter, theme, scale.ticks, up, [left, width - 8]);
  const count = steps.length + 2;
  const pitch = (width - left - 8) / count;
  const bar = Math.min(90, pitch * 0.7);
  const regions: Region[] = [];
  const column = (at: number, name: string, from: number, to: number, color: string, words: string): void => {
    const middle = left + pitch * (at + 0.5);
    const [high, low] = [Math.min(up(from), up(to)), Math.max(up(from), up(to))];
    painter.rect(middle - bar / 2, high, bar, Math.max(1.5, low - high), { fill: color });
    painter.text(middle, high - 8, words, { color: theme.ink, align: "center", size: 11 });
    lines(painter, name, pitch - 6).forEach((line, row) =>
      painter.text(middle, bottom + 12 + row * 13, line, { color: theme.ink, align: "center", size: 11 }),
    );
    regions.push({
      x: middle - pitch / 2,
      y: 0,
      width: pitch,
      height,
      lines: [
        name,
        withUnit(words, waterfall.unit),
        `from ${formatPrecise(from)} to ${withUnit(formatPrecise(to), waterfall.unit)}`,
      ],
    });
  };
  const foot = cut ? scale.low : 0;
  column(0, waterfall.base, foot, waterfall.start, BASE, formatShort(waterfall.start));
  steps.forEach((step, at) => {
    const share = waterfall.start ? ` (${formatChange((100 * step.change) / waterfall.start, 1)}%)` : "";
    // More time for the same work is worse; more utilization is neither.
    const color = waterfall.unit === "%" ? CATEGORIES[6] : step.change > 0 ? CATEGORIES[5] : CATEGORIES[2];
    column(at + 1, step.name, step.from, step.to, color, `${formatChange(step.change)}${share}`);
    const x = left + pitch * (at + 0.5) + bar / 2;
    segment(painter, [x, up(step.from)], [x + pitch - bar, up(step.from)], {
      stroke: theme.faint,
      dash: [3, 3],
    });
  });
  column(count - 1, waterfall.other, foot, waterfall.end, OTHER, formatShort(waterfall.end));
  if (cut)
    painter.text(left, 8, `axis begins at ${formatPrecise(scale.low)}`, { color: theme.faint, size: 11 });
  return regions;
}

/** Wraps a text into two lines. */
export function lines(painter: Pick<Painter, "measure">, words: string, width: number): string[] {
  if (painter.measure(words, 11) <= width) return [words];
  const parts = words.split(" ");
  let first = parts.shift() ?? "";
  while (parts.length && painter.measure(`${first} ${parts[0]}`, 11) <= width) first += ` ${parts.shift()}`;
  let second = parts.join(" ");
  while (second.length > 1 && painter.measure(second, 11) > width) second = `${second.slice(0, -2)}…`;
  return second ? [first, second] : [first];
}
