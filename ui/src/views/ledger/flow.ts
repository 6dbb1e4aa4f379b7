/** The flow picture of a ledger: a column for each level, every row next to what it is a part of. */

import type { LedgerRow } from "../../lib/api/types";
import type { Painter, Region } from "../../lib/paint/painter";
import { category, type Theme } from "../../lib/paint/palette";
import { formatPrecise, formatShort, withUnit } from "../../lib/text/numbers";

/** A row of the ledger with its place in the picture: a column, and a range of amounts from the top. */
export interface Piece {
  row: LedgerRow;
  column: number;
  from: number;
  to: number;
}

/** The rows of each root, the root first. */
export function roots(rows: readonly LedgerRow[]): LedgerRow[][] {
  const found: LedgerRow[][] = [];
  for (const row of rows) {
    if (row.depth === 0) found.push([row]);
    else found.at(-1)?.push(row);
  }
  return found;
}

/** The rows of each root with a picture: one whose amount is known, and not zero. */
export const pictured = (rows: readonly LedgerRow[]): LedgerRow[][] =>
  roots(rows).filter(([root]) => (root!.amount ?? 0) > 0);

/**
 * The places of the rows of one root. Amounts that are unknown or negative have no place; parts of more than their whole, such
 * as of a partition that has processors of another type, too, share its place by their amounts.
 */
export function place(rows: readonly LedgerRow[]): Piece[] {
  const next: number[] = [];
  const scales = [1];
  const skipped: number[] = [];
  const pieces: Piece[] = [];
  rows.forEach((row, at) => {
    while (skipped.length && skipped.at(-1)! >= row.depth) skipped.pop();
    if (skipped.length || row.amount === null || row.amount <= 0) {
      if (!skipped.length) skipped.push(row.depth);
      return;
    }
    const from = next[row.depth] ?? 0;
    const tall = row.amount * scales[row.depth]!;
    pieces.push({ row, column: row.depth, from, to: from + tall });
    next[row.depth] = from + tall;
    next[row.depth + 1] = from;
    scales[row.depth + 1] = Math.min(scales[row.depth]!, tall / partsOf(rows, at));
  });
  return pieces;
}

/** What the parts of a row add up to, without unknown and negative ones. */
function partsOf(rows: readonly LedgerRow[], at: number): number {
  const { depth } = rows[at]!;
  let sum = 0;
  for (const row of rows.slice(at + 1)) {
    if (row.depth <= depth) break;
    if (row.depth === depth + 1) sum += Math.max(0, row.amount ?? 0);
  }
  return sum;
}

/** The accounts in the order of their rows, each with its color. */
export function accountColors(rows: readonly LedgerRow[]): Map<string, string> {
  const names = [...new Set(rows.map(({ account }) => account))];
  return new Map(names.map((name, at) => [name, name === "idle" ? "#999999" : category(at)]));
}

/** The name of a row: its subject, or its account where that says more. */
export const nameOf = ({ subject, title, cpu_type, depth }: LedgerRow): string =>
  [subject ?? title, depth === 0 ? cpu_type : null].filter((part) => part !== null).join(" ");

/** Lines of a tooltip: the row, its amount and its share of the whole. */
export function describe(row: LedgerRow, whole: number, unit: string): string[] {
  const amount = row.amount ?? 0;
  const lines = [
    `${nameOf(row)}: ${row.title}`,
    `${withUnit(formatPrecise(amount), unit)}, ${withUnit(formatPrecise((100 * amount) / whole), "%")}, ${row.status}`,
    row.text,
  ];
  if (row.per_transaction !== null) {
    lines.push(`${withUnit(formatPrecise(row.per_transaction), unit)} per transaction`);
  }
  return lines;
}

/** Least height of a row with a name, in pixels. */
const NAMED = 13;

/** Draws the rows of one root. */
export function drawFlow(
  painter: Painter,
  width: number,
  height: number,
  theme: Theme,
  rows: readonly LedgerRow[],
  unit: string,
): Region[] {
  const pieces = place(rows);
  const whole = pieces[0]?.to ?? 0;
  if (!whole) return [];
  const columns = 1 + Math.max(...pieces.map(({ column }) => column));
  const wide = width / columns;
  const colors = accountColors(rows);
  return pieces.map(({ row, column, from, to }) => {
    const x = column * wide;
    const y = (from / whole) * height;
    const tall = Math.max(0.5, ((to - from) / whole) * height - 1);
    painter.rect(x, y, wide - 2, tall, { fill: colors.get(row.account)!, opacity: 0.3 });
    painter.rect(x, y, 4, tall, { fill: colors.get(row.account)! });
    if (tall >= NAMED) {
      painter.clip(x + 4, y, wide - 8, tall, () =>
        painter.text(x + 9, y + Math.min(tall / 2, 12), `${nameOf(row)} ${formatShort(row.amount)}`, {
          color: theme.ink,
          size: 11,
        }),
      );
    }
    return { x, y, width: wide - 2, height: tall, lines: describe(row, whole, unit) };
  });
}
