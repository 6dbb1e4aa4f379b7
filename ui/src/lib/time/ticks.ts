/** Ticks of a time axis. */

const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
];

/** Round times within a window in the system's time zone, about `count` of them, in seconds UTC. */
export function timeTicks(from: number, to: number, offset: number, count = 8): number[] {
  const raw = Math.max(1e-3, to - from) / count;
  const step = STEPS.find((size) => size >= raw) ?? Math.ceil(raw / 604800) * 604800;
  const ticks: number[] = [];
  for (let at = Math.ceil((from + offset) / step) * step; at - offset <= to; at += step)
    ticks.push(at - offset);
  return ticks;
}
