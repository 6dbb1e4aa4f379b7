/** Tables of answers of models and studies: numbers as `zlens solve` prints them. */

import type { ModelAnswer } from "../lib/api/types";
import type { TableColumn } from "../lib/api/tables";

export type AnswerTable = ModelAnswer["tables"][number];

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
      decimals: column.whole ? 0 : column.decimals,
    };
  });
}
