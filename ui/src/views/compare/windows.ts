/** Windows of a comparison in the address. */

/** Parses a window: `from..to`, where an empty value represents the start or end of the recording. */
export function windowOf(text: string | null): [number | null, number | null] {
  const [from = "", to = ""] = (text ?? "").split("..", 2);
  const moment = (word: string): number | null =>
    word.trim() === "" || !Number.isFinite(Number(word)) ? null : Number(word);
  return [moment(from), moment(to)];
}

export function windowText(from: number | null, to: number | null): string | null {
  if (from === null && to === null) return null;
  return `${from === null ? "" : Math.round(from)}..${to === null ? "" : Math.round(to)}`;
}

/** Splits a window in half at an interval end. */
export function halves(window: [number, number], step: number | null): [[number, number], [number, number]] {
  const [from, to] = window;
  let middle = (from + to) / 2;
  if (step && step > 0 && to - from > 2 * step) middle = from + Math.round((middle - from) / step) * step;
  return [
    [from, middle],
    [middle, to],
  ];
}
