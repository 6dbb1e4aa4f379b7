/** Columns over time, as returned by the server. */

import type { Cell } from "./values";

/** The statistic of a bucket. */
export type Level = "p50" | "p95" | "min" | "max";

export type Values = (number | null)[];

/** A line of a chart. Times are interval ends in seconds UTC; null marks values that cannot be computed. */
export interface Line extends Record<Level, Values> {
  by: Cell;
  column: string;
  source: string;
  t: number[];
  /** The length of each interval or bucket in seconds, if requested. */
  seconds: number[];
}

/** Columns over time: every interval if `bucket_s` is 0, otherwise buckets of complete intervals. */
export interface TimeSeries {
  bucket_s: number;
  sql: string;
  lines: Line[];
}

/** Selects lines. */
export const only = (course: TimeSeries | null, keep: (line: Line) => boolean): TimeSeries | null =>
  course && { ...course, lines: course.lines.filter(keep) };

/** Whether a line has any value. */
export const known = (line: Line): boolean => line.p50.some((value) => value !== null);
