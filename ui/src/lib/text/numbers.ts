/** Numbers as text. */

export const NO_VALUE = "…";

/** Significant digits in tables. */
const DIGITS = 4;

/** Significant digits in tooltips, and what `zlens sql` prints. */
export const PRECISE = 6;

/** A blank as wide as a digit, and one as wide as a decimal point. */
const [DIGIT_BLANK, POINT_BLANK] = ["\u2007", "\u2008"];

/**
 * Formats a column: four significant digits of each value, three of one below 1, whole digits in full; whole numbers
 * alone as they are. Blanks in the place of decimals that a value does not have keep the decimal points below each
 * other. Missing values are dots.
 */
export function formatColumn(values: (number | null)[]): string[] {
  const whole = values.every((value) => value === null || Number.isInteger(value));
  const texts = values.map((value) =>
    value === null ? NO_VALUE : whole ? formatPrecise(value) : significant(value),
  );
  const width = Math.max(0, ...texts.map((text) => fraction(text).length));
  return texts.map((text) => {
    if (text === NO_VALUE || text.includes("e") || width === 0) return text;
    const own = fraction(text).length;
    return text + (own ? "" : POINT_BLANK) + DIGIT_BLANK.repeat(width - own);
  });
}

/** Decimals of the smallest values that are shown with them. */
const MOST_DECIMALS = 7;

const fraction = (text: string): string => (text.includes("e") ? "" : (text.split(".")[1] ?? ""));

function significant(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const digits = Math.abs(value) < 1 ? DIGITS - 1 : DIGITS;
  // Rounded first: 9.9996 has the decimals of 10.
  const rounded = Number(value.toPrecision(digits));
  const power = Math.floor(Math.log10(Math.abs(rounded)));
  if (power < digits - 1 - MOST_DECIMALS || power >= 15) return formatG(rounded);
  return value.toFixed(Math.max(0, DIGITS - (power < 0 ? 2 : 1) - power));
}

/** Formats a column as `zlens sql` does: the largest value has six significant digits, the smallest two. */
export function formatColumnExact(values: (number | null)[]): string[] {
  const sizes = values
    .filter((value) => value !== null && Number.isFinite(value))
    .map((value) => Math.abs(value!));
  const largest = sizes.reduce((a, b) => Math.max(a, b), 0);
  const smallest = sizes.reduce((a, b) => (b && b < a ? b : a), Infinity);
  if (largest >= 1e15 || (largest < 1e-3 && largest > 0)) return values.map(shortest);
  const least = Number.isFinite(smallest) ? Math.min(4, 1 - Math.floor(Math.log10(smallest))) : 1;
  return aligned(values, Math.max(PRECISE - String(Math.trunc(largest)).length, least, 0));
}

const shortest = (value: number | null): string => (value === null ? NO_VALUE : formatG(value));

/** Formats numbers with as many decimals as one of them needs, and at most `most`. */
function aligned(values: (number | null)[], most: number): string[] {
  let needed = 0;
  for (const value of values) {
    if (value === null) continue;
    const fraction = value.toFixed(most).split(".")[1]?.replace(/0+$/, "") ?? "";
    needed = Math.max(needed, fraction.length);
  }
  return values.map((value) => (value === null ? NO_VALUE : value.toFixed(needed)));
}

/** Six significant digits, as C's %g. */
function formatG(value: number): string {
  if (value === 0) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  if (exponent < -4 || exponent >= PRECISE) {
    const [digits = "", power = "0"] = value.toExponential(PRECISE - 1).split("e");
    const sign = power.startsWith("-") ? "-" : "+";
    return `${trimZeros(digits)}e${sign}${power.replace(/^[+-]/, "").padStart(2, "0")}`;
  }
  return trimZeros(value.toFixed(Math.max(0, PRECISE - 1 - exponent)));
}

export function trimZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A short form of a single number, for headings and tiles. */
export function formatShort(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NO_VALUE;
  const size = Math.abs(value);
  if (size >= 1e9) return `${trimZeros((value / 1e9).toFixed(2))}G`;
  if (size >= 1e6) return `${trimZeros((value / 1e6).toFixed(2))}M`;
  if (size >= 1e4) return `${trimZeros((value / 1e3).toFixed(1))}k`;
  if (size >= 100) return trimZeros(value.toFixed(0));
  if (size >= 10) return trimZeros(value.toFixed(1));
  if (size >= 0.001 || size === 0) return trimZeros(value.toFixed(size >= 1 ? 2 : 4));
  return formatG(Number(value.toPrecision(3)));
}

/** A number for tooltips: six significant digits, and whole numbers in full. */
export function formatPrecise(value: number | null): string {
  if (value === null) return "not available";
  if (Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  return Math.abs(value) >= 10 ** (PRECISE - 1) ? value.toFixed(0) : formatG(value);
}

/** Appends the unit, unless it says nothing to the reader. */
export function withUnit(text: string, unit: string | null | undefined): string {
  if (!unit || text === NO_VALUE || ["ratio", "index", "count"].includes(unit)) return text;
  return unit.startsWith("/") ? `${text}${unit}` : `${text} ${unit}`;
}
