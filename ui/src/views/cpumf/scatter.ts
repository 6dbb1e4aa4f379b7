/** L1MP against RNI as a scatter chart with the regions of the workload hint. */

import { segment, type Region, type Painter } from "../../lib/paint/painter";
import type { HintRegion, Hints } from "../../lib/api/types";
import type { Cell } from "../../lib/api/values";
import { formatTick } from "../../lib/text/numbers";
import { reading } from "../../lib/paint/stack";
import { axis } from "../../lib/paint/axes";
import { tone, type Theme } from "../../lib/paint/palette";

export interface Point {
  l1mp: number;
  rni: number;
  color: string;
  lines: string[];
  /** Shown next to the point if there is space: colors repeat after eight. */
  label?: string;
  chosen?: boolean;
  open?: () => void;
}

/** The color of a category, calm for low nest intensity. */
export function hintColor(category: string): string {
  return { LOW: "info", AVERAGE: "warn", HIGH: "crit" }[category] ?? "faint";
}

const AT = { left: 46, right: 14, top: 8, foot: 36 };

export function drawScatter(
  painter: Painter,
  width: number,
  height: number,
  theme: Theme,
  points: Point[],
  hints: HintRegion[],
): Region[] {
  const bounds = (of: (region: HintRegion) => [number | null, number | null]): number[] =>
    hints.flatMap((region) => of(region).filter((end) => end !== null));
  // All regions and points must be visible.
  const x = axis(
    0,
    Math.max(
      ...points.map((bound) => bound.l1mp),
      ...bounds((bound) => bound.l1mp).map((end) => end * 1.4),
      1,
    ),
    width / 70,
  );
  const y = axis(
    0,
    Math.max(
      ...points.map((bound) => bound.rni),
      ...bounds((bound) => bound.rni).map((end) => end * 1.4),
      0.5,
    ),
    height / 45,
  );
  const right = width - AT.right;
  const bottom = height - AT.foot;
  const across = (value: number): number => AT.left + (value / x.high) * (right - AT.left);
  const up = (value: number): number => bottom - (value / y.high) * (bottom - AT.top);
  // The first match in the table is the category, so it is painted last.
  for (const hint of [...hints].reverse()) {
    const [left, wide] = [across(hint.l1mp[0] ?? 0), across(hint.l1mp[1] ?? x.high)];
    const [low, high] = [up(hint.rni[0] ?? 0), up(hint.rni[1] ?? y.high)];
    const color = tone(theme, hintColor(hint.category));
    painter.rect(left, high, wide - left, low - high, { fill: color, opacity: 0.1 });
    painter.rect(left, high, wide - left, low - high, { stroke: color, width: 1, opacity: 0.6 });
    painter.text(wide - 6, high + 10, hint.category, { color, align: "right", size: 11, bold: true });
  }
  for (const tick of x.ticks) {
    segment(painter, [across(tick), bottom], [across(tick), bottom + 4], { stroke: theme.faint });
    painter.text(across(tick), bottom + 12, formatTick(tick), {
      color: theme.faint,
      align: "center",
      size: 11,
    });
  }
  for (const tick of y.ticks) {
    segment(painter, [AT.left - 4, up(tick)], [AT.left, up(tick)], { stroke: theme.faint });
    painter.text(AT.left - 7, up(tick), formatTick(tick), { color: theme.faint, align: "right", size: 11 });
  }
  painter.path(
    [
      [AT.left, AT.top],
      [AT.left, bottom],
      [right, bottom],
    ],
    { stroke: theme.faint },
  );
  painter.text((AT.left + right) / 2, height - 8, "L1MP: L1 misses per 100 instructions", {
    color: theme.ink,
    align: "center",
    size: 11,
  });
  painter.text(10, (AT.top + bottom) / 2, "RNI", {
    color: theme.ink,
    align: "center",
    size: 11,
    upright: true,
  });
  const taken: [number, number][] = points.map((point) => [across(point.l1mp), up(point.rni)]);
  return points.map((point) => {
    const [px, py] = [across(point.l1mp), up(point.rni)];
    const beside: [number, number] = [px + 8 + painter.measure(point.label ?? "", 10) / 2, py];
    const free = taken.every(([a, b]) => Math.abs(a - beside[0]) > 12 || Math.abs(b - beside[1]) > 9);
    if (point.label && (free || point.chosen)) {
      painter.text(beside[0], py, point.label, { color: theme.ink, size: 10, align: "center" });
      taken.push(beside);
    }
    painter.circle(px, py, point.chosen ? 7 : 4.5, {
      fill: point.color,
      stroke: point.chosen ? theme.ink : theme.paper,
      width: point.chosen ? 2 : 0.75,
    });
    return {
      x: px - 6,
      y: py - 6,
      width: 12,
      height: 12,
      lines: [...point.lines, reading("L1MP", point.l1mp, "%"), reading("RNI", point.rni, null)],
      open: point.open,
    };
  });
}

/** The reason why a machine has no RNI; null if it has an RNI. */
export function withoutRni(
  values: { l1mp: Cell; rni: Cell; status: Cell; generation: Cell; by: Cell },
  hints: Hints | null,
): string | null {
  if (values.rni !== null) return null;
  if (values.generation === null) return `Machine generation unknown: ${String(values.by ?? "")}`;
  if (values.l1mp === null) return "The L1 counters were not recorded: without them there is no L1MP.";
  if (values.status === "unverified") {
    const known = hints?.generations.includes(String(values.generation))
      ? ""
      : " The table of hints is not for it either.";
    return (
      `No verified weights of RNI are known for ${String(values.generation)}. ` +
      "RNI needs weights of your own, or your consent to unverified ones, when zlens serve starts; select ? for details." +
      known
    );
  }
  return "RNI cannot be computed: the extended counters were not recorded.";
}
