/** Results of comparisons: their order, groups, and texts. */

import { NO_VALUE, formatChange, formatFixed, formatShort, formatQuantity } from "../../lib/text/numbers";

export interface Difference {
  system: string;
  group: string;
  metric: string;
  heading: string;
  subject: string;
  unit: string;
  direction: "higher" | "lower" | "none";
  doubt: string | null;
  base: string;
  other: string;
  base_value: number | null;
  other_value: number | null;
  form: string;
  change: number | null;
  ratio: number | null;
  percent: number | null;
  points: number | null;
  beyond_noise: boolean | null;
  outside_5_pct: boolean | null;
  better: boolean | null;
  tested_by: string;
  not_tested: string | null;
  p: number | null;
  noise: number | null;
  base_samples: number | null;
  other_samples: number | null;
}

export interface WaterfallPart {
  system: string;
  base: string;
  other: string;
  waterfall: string;
  unit: string;
  base_value: number;
  other_value: number;
  part: string;
  change: number;
}

interface Remark {
  system: string | null;
  text: string;
}

export interface ComparisonAnswer {
  sides: { name: string; systems: string[]; from: string | null; to: string | null; intervals: number }[];
  differences: Difference[];
  waterfall: WaterfallPart[];
  warnings: Remark[];
  notes: Remark[];
  criterion?: string[];
  not_tested: string[];
}

export interface Waterfall {
  title: string;
  system: string;
  unit: string;
  base: string;
  other: string;
  start: number;
  end: number;
  parts: { name: string; change: number }[];
}

export type Verdict = "beyond" | "within" | "untested";

export const verdict = (difference: Difference): Verdict =>
  difference.p === null ? "untested" : difference.beyond_noise ? "beyond" : "within";

/** The result of the test in words. */
export function result(difference: Difference): string {
  const sure = {
    beyond: "exceeds noise",
    within: "within noise",
    untested: "not tested",
  }[verdict(difference)];
  const clear = difference.beyond_noise || difference.outside_5_pct;
  const better = difference.better === null || !clear ? "" : difference.better ? ", better" : ", worse";
  return `${sure}${better}`;
}

export const nameOf = (difference: Difference): string =>
  [difference.heading, difference.subject, difference.doubt ? `(${difference.doubt})` : ""]
    .filter(Boolean)
    .join(" ");

/** The forms of a difference. */
export const FORMS: Record<string, string> = {
  "other/base": "Other / Base",
  "base/other": "Base / Other",
  percent: "Change in %",
  points: "Difference in units",
};

/** Formats a difference in its form. */
export function shown(value: number | null, form: string): string {
  if (value === null) return NO_VALUE;
  return form === "percent"
    ? formatChange(value, 1)
    : form === "points"
      ? formatChange(value)
      : formatFixed(value, 3);
}

/** The smallest difference beyond the noise, in percent of the base. */
export const noisePercent = (difference: Difference): number | null =>
  difference.noise === null || !difference.base_value
    ? null
    : (100 * difference.noise) / Math.abs(difference.base_value);

export function noise(difference: Difference): string {
  if (difference.noise === null) return NO_VALUE;
  if (difference.form === "points") return `±${formatShort(difference.noise)}`;
  const percent = noisePercent(difference);
  return percent === null ? NO_VALUE : `±${formatQuantity(percent, "%")}`;
}

/** Differences below this percentage are not visible as a bar. */
const LEAST = 0.05;

/** The differences to draw in percent of the base, in the server's order: largest first. */
export function largest(differences: readonly Difference[], most: number): Difference[] {
  return differences
    .filter((difference) => difference.percent !== null && Math.abs(difference.percent) >= LEAST)
    .slice(0, most);
}

/** Groups the parts of each waterfall. */
export function waterfalls(parts: readonly WaterfallPart[]): Waterfall[] {
  const waterfalls = new Map<string, Waterfall>();
  for (const part of parts) {
    const key = [part.system, part.base, part.other, part.waterfall].join("\n");
    const waterfall = waterfalls.get(key) ?? {
      title: part.waterfall,
      system: part.system,
      unit: part.unit,
      base: part.base,
      other: part.other,
      start: part.base_value,
      end: part.other_value,
      parts: [],
    };
    waterfall.parts.push({ name: part.part, change: part.change });
    waterfalls.set(key, waterfall);
  }
  return [...waterfalls.values()];
}
