/** Settings of a scenario, as the address holds them, and their sliders. */

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
    .map((line) => line.trim())
    .filter(Boolean);

export const joined = (lines: readonly string[]): string | null => (lines.length ? lines.join("\n") : null);

export const keyOf = (setting: string): string => setting.split("=", 1)[0]!.trim();

/** The settings with another value of a key, at the place where it stood. */
export function withSetting(settings: readonly string[], key: string, value: string | null): string[] {
  const at = settings.findIndex((setting) => keyOf(setting) === key);
  if (value === null) return settings.filter((setting) => keyOf(setting) !== key);
  const next = `${key}=${value}`;
  return at < 0 ? [...settings, next] : settings.map((setting, place) => (place === at ? next : setting));
}

/** The value of a key in the settings, where it is a number. */
export function settingOf(settings: readonly string[], key: string): number | null {
  const setting = settings.find((setting) => keyOf(setting) === key);
  if (setting === undefined) return null;
  const value = Number(setting.slice(setting.indexOf("=") + 1));
  return Number.isFinite(value) ? value : null;
}

/**
 * Where a slider runs: all that is allowed where that is no more than some hundred steps or so around the value,
 * else from nothing to a few times what stands there, so that a hand can hit it.
 */
export function sliderOf(scenario: ScenarioNumber, now: number): { min: number; max: number; step: number } {
  const size = Math.max(Math.abs(scenario.value), scenario.whole ? 1 : 1e-6);
  let max = 4 * size;
  let min = scenario.value < 0 ? -4 * size : 0;
  if (scenario.high !== null && scenario.high <= 12 * size) max = scenario.high;
  if (scenario.high !== null) max = Math.min(max, scenario.high);
  if (scenario.low !== null) min = Math.max(min, scenario.low);
  max = Math.max(max, now);
  min = Math.min(min, now);
  if (max <= min) max = min + (scenario.whole ? 1 : size);
  let step = 10 ** Math.floor(Math.log10((max - min) / 100));
  if (scenario.whole) step = Math.max(1, Math.round(step));
  // A limit that is itself not allowed is one step away.
  if (scenario.above && scenario.low !== null && min <= scenario.low) min = scenario.low + step;
  return { min, max, step: Number(step.toPrecision(6)) };
}

/** A value of a slider as --set takes it: without the noise of binary fractions. */
export const settled = (value: number): string => String(Number(value.toPrecision(10)));
