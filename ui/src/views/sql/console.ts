/** The SQL console: history, column descriptions, and lines of a result. */

import type { ColumnInfo, SqlAnswer, TableInfo } from "../../lib/api/types";
import type { Cell } from "../../lib/api/values";
import { LEADING, type TableColumn } from "../../lib/api/tables";
import type { Trace } from "../../lib/paint/lines";
import { category, colorsOf } from "../../lib/paint/palette";
import { shownUnit } from "../../lib/text/numbers";

/** The tables that a query can name. */
export interface Tables {
  tables: TableInfo[];
}

/** The key columns of the tables that a query names. */
export const keysOf = (query: string, schema: Tables): Set<string> =>
  new Set(named(query, schema).flatMap((table) => table.key));

export interface HistoryEntry {
  q: string;
  /** When it ran, in milliseconds since 1970. */
  at: number;
  rows: number;
  more: boolean;
  seconds: number;
}

/** Lists the problems of the inputs, with their offsets in the files. */
export const PROBLEMS = "SELECT * FROM problem";

const KEY = "zlens.sql.history";
export const REMEMBERED = 50;

/** Adds to the history: newest first, without duplicates. */
export function remembered(history: HistoryEntry[], entry: HistoryEntry): HistoryEntry[] {
  return [entry, ...history.filter((other) => other.q !== entry.q)].slice(0, REMEMBERED);
}

export function readHistory(store: Pick<Storage, "getItem">): HistoryEntry[] {
  try {
    const stored: unknown = JSON.parse(store.getItem(KEY) ?? "[]");
    if (!Array.isArray(stored)) return [];
    return stored
      .filter((entry): entry is HistoryEntry => typeof (entry as HistoryEntry | null)?.q === "string")
      .slice(0, REMEMBERED);
  } catch {
    return [];
  }
}

export function writeHistory(store: Pick<Storage, "setItem">, history: HistoryEntry[]): void {
  try {
    store.setItem(KEY, JSON.stringify(history));
  } catch {
    // Without storage, the history is lost when the web UI is closed.
  }
}

/** The tables named in a query. */
export function named(query: string, schema: Tables): TableInfo[] {
  const bare = query.replace(/'(?:[^']|'')*'/g, " ").replace(/--[^\n]*/g, " ");
  const words = new Set(bare.toLowerCase().match(/[a-z_][a-z0-9_.]*/g) ?? []);
  return schema.tables.filter((table) => words.has(table.name.toLowerCase()));
}

/** The columns of a result; a column with the name of a column in a queried table has its description. */
export function columnsOf(
  answer: Pick<SqlAnswer, "columns" | "types">,
  query: string,
  schema: Tables,
): TableColumn[] {
  const tables = named(query, schema);
  const seen = new Map<string, number>();
  return answer.columns.map((name, at) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    let about: ColumnInfo | undefined;
    let table = "";
    for (const candidate of tables) {
      about = candidate.columns.find((column) => column.name === name);
      if (about) {
        table = candidate.kind === "measure" ? candidate.name : "";
        break;
      }
    }
    return {
      key: count > 1 ? `${name}_${count}` : name,
      heading: name,
      exact: true,
      type: answer.types[at] ?? "text",
      unit: about?.unit || null,
      text: about?.text ?? `${name}: ${answer.types[at] ?? "text"}`,
      explain: about && table ? `${table}.${name}` : null,
    };
  });
}

/** The line with a byte offset of a query, its number and the column, both from 1. */
export function located(query: string, position: number): { line: number; column: number; text: string } {
  const before = new TextDecoder().decode(new TextEncoder().encode(query).slice(0, position));
  const start = before.lastIndexOf("\n") + 1;
  return {
    line: before.split("\n").length,
    column: [...before.slice(start)].length + 1,
    text: query.slice(start).split("\n")[0]!,
  };
}

/**
 * The UTC offset of the times of a result's rows: that of the row's system, or of the one system that the
 * query names, or of all systems. Null if rows may be of systems in several zones.
 */
export function offsetsOf(
  answer: Pick<SqlAnswer, "columns">,
  query: string,
  systems: readonly string[],
  offsetOf: (system: string) => number,
): ((row: Cell[]) => number) | null {
  const at = answer.columns.indexOf("system");
  const literals = new Set([...query.matchAll(/'((?:[^']|'')*)'/g)].map((match) => match[1]!));
  const own = systems.filter((system) => literals.has(system));
  const zones = [...new Set((own.length ? own : systems).map(offsetOf))];
  if (at < 0) return zones.length > 1 ? null : () => zones[0] ?? 0;
  return (row) => (typeof row[at] === "string" ? offsetOf(row[at]) : 0);
}

const LINES = 12;

/**
 * The chart of a result: numeric columns over the first time column, one line per combination of keys: text
 * columns, and numbers that are keys of a table.
 */
export interface AnswerChart {
  columns: string[];
  /** The lines of a column. */
  lines: (column: string) => ZonedTrace[];
  window: [number, number];
  /** Seconds east of UTC of all rows; null if they differ. */
  offset: number | null;
}

/** A line whose times are `offset` seconds east of UTC. */
export interface ZonedTrace extends Trace {
  offset: number;
}

export function drawn(
  answer: Pick<SqlAnswer, "columns" | "types" | "rows">,
  offsetOf: (row: Cell[]) => number = () => 0,
  keys: ReadonlySet<string> = new Set(),
): AnswerChart | null {
  const time = answer.types.indexOf("time");
  if (time < 0 || answer.rows.length < 2) return null;
  const isKey = (at: number): boolean =>
    ["text", "bool"].includes(answer.types[at]!) ||
    (answer.types[at] === "int" && keys.has(answer.columns[at]!));
  const numbers = answer.columns.filter(
    (_, at) => (answer.types[at] === "float" || answer.types[at] === "int") && !isKey(at),
  );
  if (!numbers.length) return null;
  const moments = answer.rows.map((row) => Date.parse(String(row[time])) / 1000);
  const known = moments.filter(Number.isFinite);
  if (new Set(known).size < 2) return null;
  const split = answer.columns.flatMap((_, at) => (isKey(at) ? [at] : []));
  // What all rows have in common distinguishes no lines.
  const several = split.filter((at) => answer.rows.some((row) => row[at] !== answer.rows[0]![at]));
  const names = several.length ? several : split.filter((at) => answer.types[at] === "text");
  const word = (row: Cell[], at: number): string[] => {
    const value = row[at] ?? null;
    if (value === null) return [];
    return [answer.types[at] === "text" ? String(value) : `${answer.columns[at]} ${value}`];
  };
  const lineOf = (row: Cell[]): string => names.flatMap((at) => word(row, at)).join(" ");
  const offsets = new Map<string, number>();
  for (const row of answer.rows) offsets.set(lineOf(row), offsetOf(row));
  const zones = [...new Set(offsets.values())];
  const lines = (column: string): ZonedTrace[] => {
    const at = answer.columns.indexOf(column);
    const groups = new Map<string, { t: number; value: number | null }[]>();
    answer.rows.forEach((row, n) => {
      const t = moments[n]!;
      if (!Number.isFinite(t)) return;
      const name = lineOf(row) || column;
      const value = row[at] ?? null;
      const points = groups.get(name) ?? [];
      points.push({ t, value: typeof value === "number" ? value : null });
      groups.set(name, points);
    });
    const largest = (points: { value: number | null }[]): number =>
      points.reduce((most, point) => Math.max(most, point.value ?? -Infinity), -Infinity);
    const chosen = [...groups].sort(([, a], [, b]) => largest(b) - largest(a)).slice(0, LINES);
    const colors = colorsOf(
      "answer",
      chosen.map(([name]) => name),
    );
    return chosen.map(([name, points]) => {
      const sorted = points.sort((a, b) => a.t - b.t);
      return {
        name,
        color: chosen.length > 1 ? colors.get(name)! : category(0),
        t: sorted.map((point) => point.t),
        value: sorted.map((point) => point.value),
        low: null,
        high: null,
        offset: offsets.get(names.length ? name : "")!,
      };
    });
  };
  return {
    columns: numbers,
    lines,
    window: [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))],
    offset: zones.length === 1 ? zones[0]! : null,
  };
}

/** The column drawn initially: a number of a measure, rather than the length of an interval or a key. */
export function drawnFirst(names: string[], columns: TableColumn[]): string {
  const about = new Map(columns.map((column) => [column.heading, column]));
  const own = names.filter((name) => !LEADING.includes(name));
  const measure = (name: string): boolean => !!about.get(name)?.explain && about.get(name)?.type === "float";
  return (
    own.find((name) => measure(name) && shownUnit(about.get(name)?.unit)) ??
    own.find(measure) ??
    own.find((name) => about.get(name)?.type === "float") ??
    own[0] ??
    names[0]!
  );
}

/** A result as a JSON array of objects. */
export function asJson(answer: Pick<SqlAnswer, "columns" | "rows">): string {
  const lines = answer.rows.map((row) =>
    JSON.stringify(Object.fromEntries(answer.columns.map((name, at) => [name, row[at] ?? null]))),
  );
  return lines.length ? `[\n${lines.join(",\n")}\n]\n` : "[]\n";
}

/** Filters tables and columns by a search; a table whose name matches keeps all columns. */
export function searched(tables: TableInfo[], search: string): TableInfo[] {
  const word = search.trim().toLowerCase();
  if (!word) return tables;
  return tables.flatMap((table) => {
    if (table.name.toLowerCase().includes(word)) return [table];
    const columns = table.columns.filter(
      (column) =>
        column.name.toLowerCase().includes(word) || (column.text ?? "").toLowerCase().includes(word),
    );
    if (columns.length) return [{ ...table, columns }];
    return table.text.toLowerCase().includes(word) ? [table] : [];
  });
}

/** Quotes a name for SQL if needed. */
export function quoted(name: string): string {
  return /^[a-z_][a-z0-9_.]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Replaces the selection of a field's text. */
export function inserted(
  text: string,
  from: number,
  to: number,
  words: string,
): { text: string; at: number } {
  const before = text.slice(0, from);
  const pad = before && /[\w"]$/.test(before) && /^[\w"]/.test(words) ? " " : "";
  return { text: before + pad + words + text.slice(to), at: from + pad.length + words.length };
}
