/** Numbers as text; no other module formats them. */

export const NO_VALUE = "–";

/** Significant digits in tables, and in tiles, axes and badges. */
const [TABLE, SHORT] = [4, 3];

/** Significant digits in tooltips, and as printed by `zlens sql`. */
const PRECISE = 6;

/** A blank as wide as a digit, and one as wide as a decimal point. */
const [DIGIT_BLANK, POINT_BLANK] = ["\u2007", "\u2008"];

/** Decimals, with commas between thousands: 1,234.50. */
export function formatFixed(value: number | null | undefined, decimals: number): string {
  if (value === null || value === undefined) return NO_VALUE;
  // Avoids -0.
  const [whole, rest] = (Number(value.toFixed(decimals)) + 0).toFixed(decimals).split(".");
  return whole!.replace(/\B(?=(\d{3})+$)/g, ",") + (rest === undefined ? "" : `.${rest}`);
}

/** A number and its noun: 1 row, 2 rows, 1,234 rows. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatFixed(count, 0)} ${count === 1 ? one : many}`;

/** Digits by magnitude: `digits` significant digits, three below 1, and a power of ten below a thousandth. */
function significant(value: number, digits: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value + 0);
  // Rounded first: 9.9996 has the decimals of 10.
  const rounded = Number(value.toPrecision(Math.abs(value) < 1 ? SHORT : digits));
  const power = Math.floor(Math.log10(Math.abs(rounded)));
  if (power < -3 || power >= 15) return rounded.toExponential(SHORT - 1);
  return formatFixed(value, Math.max(0, (power < 0 ? SHORT : digits) - 1 - power));
}

/** Percentages have no power of ten: this replaces those below a thousandth, if any. */
function tinyPercent(value: number, unit: string | null | undefined): string | null {
  const size = Number(Math.abs(value).toPrecision(SHORT));
  if (!unit?.startsWith("%") || size === 0 || size >= 0.001) return null;
  return value < 0 ? ">-0.001" : "<0.001";
}

/**
 * Formats a column: each value by its magnitude, columns of integers without decimals. Blanks instead of
 * missing decimals align the decimal points.
 */
export function formatColumn(values: (number | null)[], unit?: string | null): string[] {
  const whole = values.every((value) => value === null || Number.isInteger(value));
  const texts = values.map((value) =>
    value === null
      ? NO_VALUE
      : whole
        ? formatFixed(value, 0)
        : (tinyPercent(value, unit) ?? significant(value, TABLE)),
  );
  const width = Math.max(0, ...texts.map((text) => fraction(text).length));
  return texts.map((text) => {
    if (text === NO_VALUE || /[e<>]/.test(text) || width === 0) return text;
    const own = fraction(text).length;
    return text + (own ? "" : POINT_BLANK) + DIGIT_BLANK.repeat(width - own);
  });
}

const fraction = (text: string): string => (/[e<>]/.test(text) ? "" : (text.split(".")[1] ?? ""));

/** Formats a column as `zlens sql` does: the largest value has six significant digits, the smallest two. */
export function formatColumnExact(values: (number | null)[]): string[] {
  const sizes = values
    .filter((value) => value !== null && Number.isFinite(value))
    .map((value) => Math.abs(value!));
  const largest = sizes.reduce((a, b) => Math.max(a, b), 0);
  const smallest = sizes.reduce((a, b) => (b && b < a ? b : a), Infinity);
  const text = (format: (value: number) => string): string[] =>
    values.map((value) => (value === null ? NO_VALUE : format(value)));
  if (largest >= 1e15 || (largest < 1e-3 && largest > 0)) return text(formatG);
  const least = Number.isFinite(smallest) ? Math.min(4, 1 - Math.floor(Math.log10(smallest))) : 1;
  const most = Math.max(PRECISE - String(Math.trunc(largest)).length, least, 0);
  // The maximum number of decimals that a value needs.
  const needed = Math.max(
    0,
    ...values.map((value) => fraction(trimZeros((value ?? 0).toFixed(most))).length),
  );
  return text((value) => value.toFixed(needed));
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

const trimZeros = (text: string): string => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

/** The factor and letter of large numbers. */
function prefix(value: number): [number, string] {
  const size = Math.abs(Number(value.toPrecision(SHORT)));
  return size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
}

/** A short form of a single number, for headings and tiles. */
export function formatShort(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NO_VALUE;
  if (Number.isInteger(value) && Math.abs(value) < 1e4) return formatFixed(value, 0);
  const [by, letter] = prefix(value);
  return significant(value / by, SHORT) + letter;
}

/** A difference with its sign, with `decimals` or in short form. */
export function formatChange(value: number, decimals?: number): string {
  const text = decimals === undefined ? formatShort(value) : formatFixed(value, decimals);
  return value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
}

/** A round number of an axis. */
export function formatTick(value: number): string {
  const [by, letter] = prefix(value);
  return by === 1 ? formatPrecise(value) : formatG(value / by) + letter;
}

/** A number for tooltips: six significant digits, and integers in full. */
export function formatPrecise(value: number | null): string {
  if (value === null) return "not available";
  const size = Math.abs(value);
  if (!Number.isFinite(value) || (size < 1000 && !Number.isInteger(value))) return formatG(value);
  const decimals = Number.isInteger(value) ? 0 : Math.max(0, PRECISE - String(Math.trunc(size)).length);
  return trimZeros(formatFixed(value, decimals));
}

/** The unit, unless it has no meaning for the user. */
export const shownUnit = (unit: string | null | undefined): string | null =>
  !unit || ["ratio", "index", "count"].includes(unit) ? null : unit;

/** A number with its unit, not separated by a line break. */
export function withUnit(text: string, unit: string | null | undefined): string {
  const shown = shownUnit(unit);
  if (!shown || text === NO_VALUE || text === formatPrecise(null)) return text;
  return /^[/%]/.test(shown) ? text + shown : `${text}\u00a0${shown}`;
}

/** A short form with its unit. */
export function formatQuantity(value: number | null | undefined, unit: string | null | undefined): string {
  return withUnit((value && tinyPercent(value, unit)) || formatShort(value), unit);
}
