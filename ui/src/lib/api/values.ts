/** Values in the cells of results. */

export type Cell = string | number | boolean | null;

export type Kind = "int" | "float" | "text" | "bool" | "time";

/** Statistics over the rows of a column; the catalog defines which a column has: docs/aggregation.md. */
export type Statistic =
  "mean" | "total" | "rate" | "min" | "max" | "p50" | "p95" | "first" | "last" | "mode" | "count";
