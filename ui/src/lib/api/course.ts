/** Columns over time, as the server answers them. */

import type { Cell } from "./values";

/** What is told of a bucket. */
export type Level = "p50" | "p95" | "min" | "max";

export type Values = (number | null)[];

/** One line of a chart. Times are ends of intervals in seconds UTC; what is not computable is null. */
export interface Line extends Record<Level, Values> {
  by: Cell;
  column: string;
  source: string;
  t: number[];
}

/** Columns over time: every interval where `bucket_s` is 0, else buckets of whole intervals. */
export interface Course {
  bucket_s: number;
  sql: string;
  lines: Line[];
}

/** A course of some of its lines only. */
export const only = (course: Course | null, keep: (line: Line) => boolean): Course | null =>
  course && { ...course, lines: course.lines.filter(keep) };

/** The lines of a course in the order of their subjects. */
export const ordered = (course: Course | null, subjects: Cell[]): Course | null =>
  course && {
    ...course,
    lines: [...course.lines].sort((a, b) => subjects.indexOf(a.by) - subjects.indexOf(b.by)),
  };

/** Whether a line has any value. */
export const known = (line: Line): boolean => line.p50.some((value) => value !== null);
