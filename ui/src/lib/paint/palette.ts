/** Colors for all kinds of color vision, light and dark. */

import { theme } from "../page/theme.svelte";

/** Okabe and Ito's palette, ordered so that neighbors differ in brightness too. */
export const CATEGORIES = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
  "#999999",
  "#f0e442",
] as const;

/** Darker tones for the light theme, where lines need a contrast of at least 4.5. */
const ON_LIGHT: Record<string, string> = {
  "#e69f00": "#946200",
  "#009e73": "#007d5b",
  "#cc79a7": "#b0407f",
  "#56b4e9": "#6f4fc8",
  "#d55e00": "#bf4b00",
  "#999999": "#6f6f6f",
  "#f0e442": "#756d00",
};

/** Brighter tones for the dark theme. */
const ON_DARK: Record<string, string> = {
  "#0072b2": "#4f86f7",
  "#d55e00": "#e8702a",
  "#66707b": "#8a94a0",
};

/** A color as shown on the current theme. */
export function shade(color: string): string {
  return (theme.dark ? ON_DARK : ON_LIGHT)[color] ?? color;
}

/** Stops of the map "cividis" (Nuñez, Anderton and Renslow 2018), dark to bright. */
const CIVIDIS: [number, number, number][] = [
  [0, 34, 78],
  [18, 53, 112],
  [59, 73, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [225, 204, 85],
  [254, 232, 56],
];

/** Returns a color for 0 to 1, from dark to bright. */
export function heat(share: number): string {
  const at = Math.min(1, Math.max(0, share)) * (CIVIDIS.length - 1);
  const low = Math.floor(at);
  const a = CIVIDIS[low]!;
  const b = CIVIDIS[Math.min(low + 1, CIVIDIS.length - 1)]!;
  const mixed = a.map((part, i) => Math.round(part + (b[i]! - part) * (at - low)));
  return `rgb(${mixed.join(",")})`;
}

export function category(index: number): string {
  return CATEGORIES[index % CATEGORIES.length]!;
}

const given = new Map<string, number>();

/**
 * The colors of subjects drawn in one chart. A subject has the same color in every chart and window: the
 * color least used by subjects of its kind, so that up to eight never share one; among those it follows from
 * the name, so that consecutive numbered names differ.
 */
export function colorsOf(kind: string, names: readonly string[]): Map<string, string> {
  const key = (name: string): string => `${kind}/${name}`;
  const taken = new Set(names.flatMap((name) => given.get(key(name)) ?? []));
  for (const name of [...names].sort()) {
    if (given.has(key(name))) continue;
    const wanted = [...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
    const all = CATEGORIES.map((_, at) => (wanted + at) % CATEGORIES.length);
    const uses = all.map(() => 0);
    for (const [other, color] of given) if (other.startsWith(key(""))) uses[color]! += 1;
    const free = all.filter((at) => !taken.has(at));
    const from = free.length ? free : all;
    const least = Math.min(...from.map((at) => uses[at]!));
    const index = from.find((at) => uses[at] === least)!;
    given.set(key(name), index);
    taken.add(index);
  }
  return new Map(names.map((name) => [name, category(given.get(key(name))!)]));
}

/** The text color on a color of `heat`: black and white have the same contrast on the color between them. */
export function onHeat(share: number): string {
  return share > 0.468 ? "#000000" : "#ffffff";
}

/** The colors of the web UI's style, named like its CSS variables. */
export interface Theme {
  ink: string;
  faint: string;
  grid: string;
  paper: string;
  accent: string;
  crit: string;
  warn: string;
  info: string;
}

const NAMES: (keyof Theme)[] = ["ink", "faint", "grid", "paper", "accent", "crit", "warn", "info"];

export function themeOf(element: Element): Theme {
  const style = getComputedStyle(element);
  return Object.fromEntries(
    NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim() || "#888"]),
  ) as unknown as Theme;
}

/** Resolves a theme color by name; other colors are returned unchanged. */
export function tone(theme: Theme, color: string): string {
  return theme[color as keyof Theme] ?? color;
}
