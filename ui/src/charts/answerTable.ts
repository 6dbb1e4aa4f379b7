/** Tables of answers of models and studies: numbers as `zlens solve` prints them. */

import type { ModelAnswer } from "../lib/api/types";
import type { TableColumn } from "../lib/api/tables";
import type { Cell } from "../lib/api/values";
import { NO_VALUE } from "../lib/text/numbers";

export type AnswerTable = ModelAnswer["tables"][number];

/** Formats a value as `zlens solve` does. */
export function printedAs(value: Cell, decimals: number, whole = false): string {
  if (value === null) return NO_VALUE;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  const digits = whole ? 0 : decimals;
  return (Number(value.toFixed(digits)) + 0).toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** The columns of a table as the page shows them. */
export function columnsOf(table: AnswerTable): TableColumn[] {
  return table.columns.map((column, at) => {
    const values = table.rows.map((row) => row[at] ?? null);
    const words = values.some((value) => typeof value === "string" || typeof value === "boolean");
    return {
      key: column.key,
      heading: column.heading,
      type: words ? "text" : "float",
      unit: column.unit || null,
      text: column.text || null,
      show: (value) => printedAs(value, column.decimals, column.whole ?? false),
    };
  });
}
