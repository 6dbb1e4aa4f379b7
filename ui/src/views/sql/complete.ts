/** Completion of table and column names. */

import type { TableInfo } from "../../lib/api/types";
import { named, quoted, type Tables } from "./console";

export interface Option {
  label: string;
  type: "table" | "column";
  detail: string;
  info: string;
  apply: string;
  /** Higher values are first. */
  boost: number;
}

/** The word, with the table or alias before its dot, that ends a text. */
export const wordBefore = (text: string): string => /[\w.]*$/.exec(text)![0];

/** Returns aliases of tables: FROM guest AS g, JOIN load l. */
function aliases(query: string): Map<string, string> {
  const form = /\b(?:from|join|,)\s+([a-z_][\w.]*)\s+(?:as\s+)?([a-z_]\w*)/gi;
  return new Map(
    [...query.matchAll(form)].map((match) => [match[2]!.toLowerCase(), match[1]!.toLowerCase()]),
  );
}

const ofTable = (table: TableInfo): Option => ({
  label: table.name,
  type: "table",
  detail: table.fills ? table.kind : `${table.kind}, no data in this input`,
  info: table.text,
  apply: quoted(table.name),
  boost: (table.kind === "measure" ? 1 : 0) - (table.fills ? 0 : 10),
});

const ofColumns = (table: TableInfo): Option[] =>
  table.columns.map((column) => ({
    label: column.name,
    type: "column",
    detail: [column.unit, table.name].filter(Boolean).join(", "),
    info: column.text ?? "",
    apply: quoted(column.name),
    boost: 5,
  }));

/**
 * Returns completions at a position of a query, and their start: after a table or its alias and a dot, the
 * table's columns; otherwise columns of the tables in the query, and all tables.
 */
export function completions(query: string, at: number, schema: Tables): { from: number; options: Option[] } {
  const word = wordBefore(query.slice(0, at));
  const dot = word.lastIndexOf(".");
  const from = at - word.length + dot + 1;
  const find = (name: string): TableInfo | undefined =>
    schema.tables.find((table) => table.name.toLowerCase() === name);
  if (dot >= 0) {
    const before = word.slice(0, dot).toLowerCase();
    const table = find(aliases(query).get(before) ?? before);
    const within = schema.tables.filter((other) => other.name.toLowerCase().startsWith(`${before}.`));
    const parts = within.map((other) => {
      const name = other.name.slice(dot + 1);
      return { ...ofTable(other), label: name, apply: quoted(name) };
    });
    return { from, options: [...(table ? ofColumns(table) : []), ...parts] };
  }
  const seen = new Set<string>();
  const columns = named(query, schema)
    .flatMap(ofColumns)
    .filter(({ label }) => !seen.has(label) && seen.add(label));
  return { from, options: [...columns, ...schema.tables.map(ofTable)] };
}
