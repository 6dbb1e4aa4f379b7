/** Ticks of a time axis. */

const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
];

/** Round times within a window in the system's time zone, about `count` of them, in seconds UTC. */
export function timeTicks(from: number, to: number, offset: number, count = 8): number[] {
  const raw = Math.max(1e-3, to - from) / count;
  if (raw > MONTH * 0.9) return monthTicks(from, to, offset, Math.ceil(raw / MONTH - 0.1));
  const step = STEPS.find((size) => size >= raw) ?? Math.ceil(raw / 604800) * 604800;
  const ticks: number[] = [];
  for (let at = Math.ceil((from + offset) / step) * step; at - offset <= to; at += step)
    ticks.push(at - offset);
  return ticks;
}

const MONTH = 30.44 * 86400;
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120];

/** The first days of months: at least `least` months from one to the next. */
function monthTicks(from: number, to: number, offset: number, least: number): number[] {
  const step = MONTHS.find((months) => months >= least) ?? Math.ceil(least / 120) * 120;
  const start = new Date((from + offset) * 1000);
  let month = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / step) * step;
  const ticks: number[] = [];
  const first = () => Date.UTC(Math.floor(month / 12), month % 12) / 1000 - offset;
  // Times that no date can have are not a number, which also ends the loop.
  for (let t = first(); t <= to; month += step, t = first()) if (t >= from) ticks.push(t);
  return ticks;
}
