/** Requests for seconds by owner: system, group, subject, and its parts. */

import type { AggregateAnswer, AggregateQuestion } from "../../lib/api/types";
import type { Cell, Statistic } from "../../lib/api/values";
import { columnsOf, rowsOf, textOf, Wanted } from "./subjects";
import type { Owners, Part, Where } from "../../lib/api/subject";

type Group = Owners["group"][number];

/** One row per subject, with the columns that name its group. */
export function ownersQuestion(
  table: string,
  owners: Owners,
  group: Group,
  time: string,
  where: Where,
): AggregateQuestion {
  const wanted = new Wanted().add(time, "total");
  for (const column of columnsOf(group.pieces)) wanted.add(column, "last");
  return { table, by: owners.by, columns: wanted.columns, where, limit: 100_000 };
}

/** One row per part of a subject. */
export function partsQuestion(owners: Owners, part: Part, time: string, where: Where): AggregateQuestion {
  const columns: Record<string, Statistic[]> = { [time]: ["total"] };
  return { table: part.table, by: [...owners.by, ...part.keys], columns, where, limit: 100_000 };
}

/**
 * Returns the rows of a tree: names from the top down, and the seconds. Seconds not in any part remain
 * with the subject, if they exceed a thousandth. Sources with the same subjects are separate.
 */
export function ownerPaths(
  owners: Owners,
  group: Group,
  time: string,
  totals: AggregateAnswer,
  parts: { part: Part; answer: AggregateAnswer } | null,
): Cell[][] {
  const total = `${time}_total`;
  const rows = rowsOf(totals);
  const several = new Set(rows.map((row) => row("source"))).size > 1;
  const path = (row: (name: string) => Cell): Cell[] => owners.level.map((pieces) => textOf(pieces, row));
  const key = (row: (name: string) => Cell): string =>
    JSON.stringify([row("source"), ...owners.by.map((name) => row(name))]);
  const below = new Map<string, { name: string; value: number }[]>();
  for (const row of parts ? rowsOf(parts.answer) : []) {
    const name = textOf(parts!.part.pieces, row);
    const value = row(total);
    if (name === null || typeof value !== "number") continue;
    below.set(key(row), [...(below.get(key(row)) ?? []), { name, value }]);
  }
  return rows.flatMap((row): Cell[][] => {
    const value = row(total);
    if (typeof value !== "number") return [];
    const owner = textOf(group.pieces, (column) => row(`${column}_last`)) ?? group.none;
    const names = [...(several ? [row("source")] : []), owner, ...path(row)];
    const owned = below.get(key(row)) ?? [];
    const own = value - owned.reduce((sum, part) => sum + part.value, 0);
    if (!parts) return [[...names, value]];
    return [
      ...owned.map((part): Cell[] => [...names, part.name, part.value]),
      ...(own > 0.001 * value ? [[...names, null, own]] : []),
    ];
  });
}
