/** Tables of answers of models and studies, with numbers as printed by `zlens solve`. */

import type { ModelAnswer } from "../lib/api/types";
import type { TableColumn } from "../lib/api/tables";

export type AnswerTable = ModelAnswer["tables"][number];

/** The columns of a table in the web UI. */
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
      decimals: column.whole ? 0 : column.decimals,
    };
  });
}
