/** Axes of drawings. */

/** Ends and step of an axis: steps of 1, 2 or 5 times a power of ten, about `count` of them. */
export function axis(
  low: number,
  high: number,
  count = 5,
): { low: number; high: number; step: number; ticks: number[] } {
  const top = high > low ? high : low + 1;
  const raw = (top - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step =
    [1, 2, 5, 10].map((times) => times * power).find((one) => one >= raw * (1 - 1e-9)) ?? 10 * power;
  const round = (value: number): number => Number(value.toPrecision(12));
  const first = round(Math.floor(low / step + 1e-9) * step);
  const last = round(Math.ceil(top / step - 1e-9) * step);
  const ticks: number[] = [];
  for (let at = 0; first + at * step <= last + step * 1e-9; at += 1)
    ticks.push(Number((first + at * step).toPrecision(12)));
  return { low: first, high: last, step, ticks };
}
