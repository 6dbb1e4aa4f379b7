/** Numbers as text. */

export const DOTS = "…";

/** Significant digits in tables. */
const DIGITS = 4;

/** Significant digits in tooltips, and what `zlens sql` prints. */
export const PRECISE = 6;

/**
 * Formats a column with a common number of decimals, so that decimal points align. The largest value has
 * `digits` significant digits; a value that these decimals would round to zero keeps two of its own. Missing
 * values are dots.
 */
export function figures(values: (number | null)[], digits = DIGITS): string[] {
  const finite = values
    .filter((value) => value !== null && Number.isFinite(value))
    .map((value) => Math.abs(value!));
  const largest = finite.length ? finite.reduce((a, b) => Math.max(a, b)) : 0;
  const smallest = finite.reduce((a, b) => (b && b < a ? b : a), Infinity);
  if (largest >= 1e15 || (largest < 1e-3 && largest > 0)) {
    return values.map((value) => (value === null ? DOTS : general(value)));
  }
  const integerDigits = String(Math.trunc(largest)).length;
  const least = Number.isFinite(smallest) ? Math.min(4, 1 - Math.floor(Math.log10(smallest))) : 1;
  // Tables for programs show the smallest value too, at the cost of more digits for the others.
  const most = Math.max(digits - integerDigits, digits < PRECISE ? 0 : least, 0);
  let needed = 0;
  for (const value of finite) {
    const fraction = value.toFixed(most).split(".")[1]?.replace(/0+$/, "") ?? "";
    needed = Math.max(needed, fraction.length);
  }
  return values.map((value) => {
    if (value === null) return DOTS;
    const text = value.toFixed(needed);
    return value !== 0 && Number(text) === 0 && digits < PRECISE ? value.toPrecision(2) : text;
  });
}

/** Six significant digits, as C's %g. */
function general(value: number): string {
  if (value === 0) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  if (exponent < -4 || exponent >= PRECISE) {
    const [digits = "", power = "0"] = value.toExponential(PRECISE - 1).split("e");
    const sign = power.startsWith("-") ? "-" : "+";
    return `${trimmed(digits)}e${sign}${power.replace(/^[+-]/, "").padStart(2, "0")}`;
  }
  return trimmed(value.toFixed(Math.max(0, PRECISE - 1 - exponent)));
}

export function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A short form of a single number, for headings and tiles. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return DOTS;
  const size = Math.abs(value);
  if (size >= 1e9) return `${trimmed((value / 1e9).toFixed(2))}G`;
  if (size >= 1e6) return `${trimmed((value / 1e6).toFixed(2))}M`;
  if (size >= 1e4) return `${trimmed((value / 1e3).toFixed(1))}k`;
  if (size >= 100) return trimmed(value.toFixed(0));
  if (size >= 10) return trimmed(value.toFixed(1));
  if (size >= 0.001 || size === 0) return trimmed(value.toFixed(size >= 1 ? 2 : 4));
  return general(Number(value.toPrecision(3)));
}

/** A number for tooltips: six significant digits, and whole numbers in full. */
export function precise(value: number | null): string {
  if (value === null) return "not computable";
  if (Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  return Math.abs(value) >= 10 ** (PRECISE - 1) ? value.toFixed(0) : general(value);
}

/** Appends the unit, unless it says nothing to the reader. */
export function withUnit(text: string, unit: string | null | undefined): string {
  if (!unit || text === DOTS || ["ratio", "index", "count"].includes(unit)) return text;
  return unit.startsWith("/") ? `${text}${unit}` : `${text} ${unit}`;
}
