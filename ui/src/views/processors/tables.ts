/** Columns and order of the tables of processors and cores. */

import type { Shown, TableColumn } from "../../lib/api/tables";
import type { Cell } from "../../lib/api/values";

/** Processors that are threads of cores. */
const THREAD_COLUMNS: Shown[] = [{ column: "core_id" }, { column: "thread_id" }];

/** Processors: percentiles over the intervals of the window. */
const PROCESSOR_COLUMNS: Shown[] = [
  { column: "cpu_type" },
  { column: "polarity" },
  { column: "entitlement_pct", what: "last" },
  { column: "busy_pct", what: "p50" },
  { column: "busy_pct", what: "p95" },
  { column: "busy_pct", what: "max" },
  { column: "emulation_pct", what: "p50" },
  { column: "system_pct", what: "p50" },
  { column: "suspend_pct", what: "p50" },
  { column: "suspend_pct", what: "max" },
  { column: "parked_pct", what: "max" },
];

/** The columns of processors; cores and threads only if some core has several threads. */
export const processorColumns = (threaded: boolean): Shown[] =>
  threaded ? [...THREAD_COLUMNS, ...PROCESSOR_COLUMNS] : PROCESSOR_COLUMNS;

/** Cores, with the number of intervals that have values. */
export const CORE_COLUMNS: Shown[] = [
  { column: "cpu_type" },
  { column: "polarity" },
  { column: "entitlement_pct", what: "last" },
  { column: "threads" },
  { column: "nesting" },
  { column: "core_busy_pct", what: "p50" },
  { column: "core_busy_pct", what: "p95" },
  { column: "core_busy_pct", what: "max" },
  { column: "thread_density", what: "p50" },
  { column: "productivity_pct", what: "p50" },
  { column: "mt_utilization_pct", what: "p50" },
  { column: "mt_utilization_pct", what: "max" },
  { column: "parked_pct", what: "max" },
  { column: "seconds", what: "count" },
  { column: "productivity_pct", what: "count" },
];

/** Sorts the threads of a core next to each other. */
export function byCore(rows: Cell[][], columns: TableColumn[]): Cell[][] {
  const places = ["core_id_last", "thread_id_last", "cpu_id"].map((key) =>
    columns.findIndex((column) => column.key === key),
  );
  const order = (row: Cell[]): number[] => places.map((place) => Number(row[place] ?? Infinity));
  return rows.sort((a, b) => {
    const [left, right] = [order(a), order(b)];
    const at = left.findIndex((value, n) => value !== right[n]);
    return at < 0 ? 0 : left[at]! - right[at]!;
  });
}
