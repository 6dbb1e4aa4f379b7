/** Windows that start and end at interval ends. */

/** The ends of evenly spaced runs of intervals: first, step, count. */
export function expandRuns(runs: readonly [number, number, number][]): number[] {
  return runs.flatMap(([first, step, count]) => Array.from({ length: count }, (_, n) => first + n * step));
}

/** The number of ends at or before a time. */
function upTo(ends: readonly number[], t: number): number {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle]! <= t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether an interval ends within a window: after its start, and not after its end. */
export const anyWithin = (ends: readonly number[], [from, to]: readonly [number, number]): boolean =>
  upTo(ends, to) > upTo(ends, from);

/** The index of the edge nearest to a time. */
function nearest(edges: readonly number[], t: number): number {
  const after = upTo(edges, t);
  if (after === 0) return 0;
  if (after === edges.length) return edges.length - 1;
  return t - edges[after - 1]! <= edges[after]! - t ? after - 1 : after;
}

/** The start of the first interval: before its end, even if its length is unknown. */
const startOf = (ends: readonly number[], start: number): number => Math.min(Math.ceil(start), ends[0]! - 1);

/**
 * Returns the window whose edges are the nearest interval ends, with at least one interval: the one that
 * contains the middle of the window. `start` is the start of the first interval.
 */
export function snapWindow(
  ends: readonly number[],
  start: number,
  [from, to]: readonly [number, number],
): [number, number] {
  if (!ends.length) return [from, to];
  const edges = [startOf(ends, start), ...ends];
  let first = nearest(edges, from);
  let last = nearest(edges, to);
  if (last <= first) {
    const middle = (from + to) / 2;
    last = Math.min(edges.length - 1, Math.max(1, upTo(edges, middle)));
    first = last - 1;
  }
  return [edges[first]!, edges[last]!];
}

/** The window of the first interval that ends after a window, or of the last one before it. */
export function neighbor(
  ends: readonly number[],
  start: number,
  [, to]: readonly [number, number],
): [number, number] | null {
  if (!ends.length) return null;
  const at = Math.min(upTo(ends, to), ends.length - 1);
  return [at > 0 ? ends[at - 1]! : startOf(ends, start), ends[at]!];
}
