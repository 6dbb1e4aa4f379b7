/** Classic reports: the list, its search, and sortable tables. */

import type { Cell, Kind } from "../../lib/api/values";
import type { ReportInfo } from "../../lib/api/types";
import type { TableColumn } from "../../lib/api/tables";
import { plural, shownUnit } from "../../lib/text/numbers";

/** The number of columns with values in a report. */
export interface ColumnCount {
  name: string;
  has: number;
  of: number;
  state: string;
}

export interface ReportColumn {
  key: string;
  heading: string;
  unit: string;
  type: "number" | "text" | "time";
  decimals?: number;
  measures?: string[];
  status?: string;
  text?: string;
}

export interface ReportTable {
  key: string;
  title: string;
  block: string;
  columns: ReportColumn[];
  rows: Cell[][];
  sql?: string | null;
}

export interface ReportTables {
  name: string;
  fcx: string | null;
  title: string;
  facts: string[];
  tables: ReportTable[];
  notes: string[];
  more: boolean;
}

export interface ReportText {
  name: string;
  format: string;
  text: string;
}

/** Reports by group that match a search for name, number, and title. */
export function menu(
  reports: ReportInfo[],
  search: string,
  only: boolean,
): { heading: string; reports: ReportInfo[] }[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, ReportInfo[]>();
  for (const report of reports) {
    const text = `${report.name} ${report.fcx ?? ""} ${report.title} ${report.heading}`.toLowerCase();
    if (only && !report.fills) continue;
    if (!words.every((word) => text.includes(word))) continue;
    const heading = report.heading || report.group || "Others";
    groups.set(heading, [...(groups.get(heading) ?? []), report]);
  }
  return [...groups].map(([heading, reports]) => ({ heading, reports }));
}

/** The report shown initially: the first by `opening` that has data; null if no report has data. */
export function opening(reports: ReportInfo[]): string | null {
  const place = (report: ReportInfo): number => report.opening || Infinity;
  const full = reports.filter((report) => report.fills);
  return [...full].sort((a, b) => place(a) - place(b))[0]?.name ?? null;
}

/** The status of a report in the list; exact once all are counted. */
export function state(report: ReportInfo, has: ColumnCount | undefined): string {
  if (!has) return report.fills ? "" : "No data";
  if (!has.has) return "No data";
  return has.has === has.of ? "Complete" : `${has.has} of ${plural(has.of, "column")}`;
}

const KINDS: Record<ReportColumn["type"], Kind> = { number: "float", text: "text", time: "time" };

/**
 * Columns and rows of a sortable table. Constant `row` and empty `flag` columns are dropped, and duplicate
 * keys are numbered.
 */
export function sortable(report: string, table: ReportTable): { columns: TableColumn[]; rows: Cell[][] } {
  const known = new Map<string, number>();
  const places: number[] = [];
  const columns: TableColumn[] = [];
  table.columns.forEach((column, at) => {
    const values = table.rows.map((row) => row[at] ?? null);
    if (column.key === "row" && values.every((value) => value === "row")) return;
    if (column.key === "flag" && values.every((value) => value === null)) return;
    const seen = known.get(column.key) ?? 0;
    known.set(column.key, seen + 1);
    places.push(at);
    // Totals may have text in numeric columns.
    const words = column.type === "number" && values.some((value) => typeof value === "string");
    columns.push({
      key: seen ? `${column.key}_${seen + 1}` : column.key,
      heading: column.heading,
      type: words ? "text" : KINDS[column.type],
      unit: shownUnit(column.unit),
      text: [column.text, column.status && column.status !== "verified" ? `(${column.status})` : ""]
        .filter(Boolean)
        .join(" "),
      decimals: column.type === "number" ? column.decimals : undefined,
      explain: ["row", "interval_end", "flag"].includes(column.key) ? null : `${report}.${column.key}`,
    });
  });
  return { columns, rows: table.rows.map((row) => places.map((at) => row[at] ?? null)) };
}
