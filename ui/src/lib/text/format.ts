/** Numbers and times as text. */

export const DOTS = "…";
/** Digits that a number shows; the hover has them all. */
const DIGITS = 6;

/**
 * One number of decimals for a whole column, so that points stand under points: the digits that `zlens sql`
 * prints in its table. What is not computable is dots.
 */
export function figures(values: (number | null)[]): string[] {
  const finite = values.filter((one) => one !== null && Number.isFinite(one)).map((one) => Math.abs(one!));
  const largest = finite.length ? finite.reduce((a, b) => Math.max(a, b)) : 0;
  const smallest = finite.reduce((a, b) => (b && b < a ? b : a), Infinity);
  if (largest >= 1e15 || (largest < 1e-3 && largest > 0)) {
    return values.map((one) => (one === null ? DOTS : general(one)));
  }
  const whole = String(Math.trunc(largest)).length;
  const least = Number.isFinite(smallest) ? Math.min(4, 1 - Math.floor(Math.log10(smallest))) : 1;
  const most = Math.max(DIGITS - whole, least, 0);
  let needed = 0;
  for (const one of finite) {
    const fraction = one.toFixed(most).split(".")[1]?.replace(/0+$/, "") ?? "";
    needed = Math.max(needed, fraction.length);
  }
  return values.map((one) => (one === null ? DOTS : one.toFixed(needed)));
}

/** Six digits, as C's %g. */
function general(value: number): string {
  if (value === 0) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  if (exponent < -4 || exponent >= DIGITS) {
    const [digits = "", power = "0"] = value.toExponential(DIGITS - 1).split("e");
    const sign = power.startsWith("-") ? "-" : "+";
    return `${trimmed(digits)}e${sign}${power.replace(/^[+-]/, "").padStart(2, "0")}`;
  }
  return trimmed(value.toFixed(Math.max(0, DIGITS - 1 - exponent)));
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A number by itself, short: for headings and tiles. */
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

/** Every digit there is. */
export function exact(value: number | null): string {
  return value === null ? "not computable" : String(value);
}

/** A value and its unit; units that are words of the catalog and say nothing to a reader are left out. */
export function withUnit(text: string, unit: string | null | undefined): string {
  if (!unit || text === DOTS || ["ratio", "index", "count"].includes(unit)) return text;
  return unit.startsWith("/") ? `${text}${unit}` : `${text} ${unit}`;
}

const two = (value: number): string => String(value).padStart(2, "0");

/** 2010-03-09 08:30:00 in a zone `offset` seconds east of UTC. */
export function dateTime(epoch: number, offset: number): string {
  const date = new Date((epoch + offset) * 1000);
  const day = `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`;
  return `${day} ${clock(epoch, offset)}`;
}

export function clock(epoch: number, offset: number): string {
  const date = new Date((epoch + offset) * 1000);
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
}

/** What stands at a tick of a time axis: a clock, and the day where a day begins or days are long past. */
export function tickLabel(t: number, from: number, to: number, offset: number): string {
  const day = dateTime(t, offset).slice(5, 10);
  const time = clock(t, offset);
  if (to - from > 86400 * 1.5) return `${day} ${time.slice(0, 5)}`;
  if (time === "00:00:00") return day;
  return to - from < 600 ? time : time.slice(0, 5);
}

/** UTC, UTC+02:00, UTC-03:30. */
export function zone(offset: number): string {
  if (offset === 0) return "UTC";
  const minutes = Math.round(Math.abs(offset) / 60);
  return `UTC${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** 90 s, 15 min, 24 h. */
export function duration(seconds: number): string {
  if (seconds >= 2 * 86400) return `${trimmed((seconds / 86400).toFixed(1))} days`;
  if (seconds >= 7200) return `${trimmed((seconds / 3600).toFixed(1))} h`;
  if (seconds >= 120) return `${trimmed((seconds / 60).toFixed(1))} min`;
  return `${trimmed(seconds.toFixed(seconds < 10 ? 3 : 0))} s`;
}

/** A column's name as people say it: `mt_utilization_pct` is MT utilization. */
export function spoken(column: string): string {
  const words = column.replace(/_(pct|s|rate)$/, "").split("_");
  return words.map((word) => LETTERS[word] ?? word).join(" ");
}

const UPPER = "cp cpi cpu etr io itr l1mp mt mvs rni ssid tv upid";
/** Names that are letters, not words. */
const LETTERS: Record<string, string> = {
  ...Object.fromEntries(UPPER.split(" ").map((word) => [word, word.toUpperCase()])),
  vh: "Vh",
  vm: "Vm",
  vl: "Vl",
};
