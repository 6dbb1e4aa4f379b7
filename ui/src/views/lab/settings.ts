/** Settings of a scenario in the address, and their sliders. */

/** A number of a scenario: its path as a setting, and its limits. */
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

/** Longer scenarios do not fit into an address. */
export const LONGEST_LINK = 6000;

/** Splits settings from the address, one per line. */
export const linesOf = (text: string | null): string[] =>
  (text ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

export const joined = (lines: readonly string[]): string | null => (lines.length ? lines.join("\n") : null);

export const keyOf = (setting: string): string => setting.split("=", 1)[0]!.trim();

/** Replaces the value of a key in place. */
export function withSetting(settings: readonly string[], key: string, value: string | null): string[] {
  const at = settings.findIndex((setting) => keyOf(setting) === key);
  if (value === null) return settings.filter((setting) => keyOf(setting) !== key);
  const next = `${key}=${value}`;
  return at < 0 ? [...settings, next] : settings.map((setting, place) => (place === at ? next : setting));
}

/** The numeric value of a key. */
export function settingOf(settings: readonly string[], key: string): number | null {
  const setting = settings.find((setting) => keyOf(setting) === key);
  if (setting === undefined) return null;
  const value = Number(setting.slice(setting.indexOf("=") + 1));
  return Number.isFinite(value) ? value : null;
}

/**
 * The range of a slider: the allowed range if it is not much larger than the value, else up to a few times
 * the value, so that it can be set by hand.
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
  // An exclusive limit is one step away.
  if (scenario.above && scenario.low !== null && min <= scenario.low) min = scenario.low + step;
  return { min, max, step: Number(step.toPrecision(6)) };
}

/** A slider's value as a setting, without binary rounding noise. */
export const settled = (value: number): string => String(Number(value.toPrecision(10)));
