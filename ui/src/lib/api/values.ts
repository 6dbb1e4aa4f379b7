/** What cells of an answer may hold. */

export type Cell = string | number | boolean | null;

export type Kind = "int" | "float" | "text" | "bool" | "time";

/** What several rows of a column give; the catalog says what each column has: docs/aggregation.md. */
export type Statistic =
  "mean" | "total" | "min" | "max" | "p50" | "p95" | "first" | "last" | "mode" | "count";
