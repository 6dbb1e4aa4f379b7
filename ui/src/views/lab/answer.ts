/** Answers of models: charts of pairs of columns. */

import type { ServerChart, ModelAnswer } from "../../lib/api/types";
import type { Cell } from "../../lib/api/values";
import { formatChange } from "../../lib/text/numbers";

const MOST_BESIDE = 40;
/** Smaller differences are rounding errors. */
const ROUNDING = 1e-6;

/** Before and after as charts, from tables in which something changes. */
export function changes(answer: ModelAnswer): ServerChart[] {
  return answer.tables.flatMap((table) => {
    const at = (key: string): number => table.columns.findIndex((column) => column.key === key);
    const [before, after, kind] = [at("before"), at("after"), at("type")];
    if (before < 0 || after < 0 || table.columns[before]!.unit !== table.columns[after]!.unit) return [];
    const off = (row: Cell[]): number => {
      const [a, b] = [row[before], row[after]];
      return typeof a === "number" && typeof b === "number" ? Math.abs(b - a) : 0;
    };
    const kinds = new Set(table.rows.map((row) => row[kind]));
    const rows = table.rows
      .filter((row) => off(row) > ROUNDING)
      .sort((a, b) => off(b) - off(a))
      .slice(0, MOST_BESIDE);
    const units = table.columns.findIndex((column) => column.key === "unit");
    // Rows with different units do not fit one chart.
    if (!rows.length || units >= 0) return [];
    const named = (row: Cell[]): string =>
      kinds.size > 1 && kind > 0 ? `${String(row[0])} ${String(row[kind])}` : String(row[0]);
    const values = (column: number): (number | null)[] =>
      rows.map((row) => (typeof row[column] === "number" ? row[column] : null));
    return [
      {
        title: table.title,
        kind: "bars" as const,
        places: rows.map(named),
        series: [
          { name: "Before", values: values(before) },
          { name: "After", values: values(after) },
        ],
        unit: table.columns[before]!.unit,
        along: "",
      },
    ];
  });
}

/** Expected and observed values as a chart, from a table with both: largest errors first. */
export function beside(answer: ModelAnswer): ServerChart[] {
  for (const table of answer.tables) {
    const at = (key: string): number => table.columns.findIndex((column) => column.key === key);
    const [expected, observed, error] = [at("expected"), at("observed"), at("error")];
    if (expected < 0 || observed < 0) continue;
    const number = (value: Cell | undefined): number | null => (typeof value === "number" ? value : null);
    const kind = at("type");
    const kinds = new Set(table.rows.map((row) => row[kind]));
    const rows = table.rows
      .filter((row) => number(row[expected]) !== null || number(row[observed]) !== null)
      .sort((a, b) => Math.abs(number(b[error]) ?? 0) - Math.abs(number(a[error]) ?? 0))
      .slice(0, MOST_BESIDE);
    if (!rows.length) continue;
    const chart: ServerChart = {
      title: "Expected and observed",
      kind: "bars",
      places: rows.map((row) => {
        const name = kinds.size > 1 ? `${String(row[0])} ${String(row[kind])}` : String(row[0]);
        const off = number(row[error]);
        return off === null || Math.abs(off) < 0.05 ? name : `${name} (${formatChange(off, 1)})`;
      }),
      series: [
        { name: "Expected", values: rows.map((row) => number(row[expected])) },
        { name: "Observed", values: rows.map((row) => number(row[observed])) },
      ],
      unit: table.columns[expected]!.unit,
      along: "",
    };
    return [chart];
  }
  return [];
}
