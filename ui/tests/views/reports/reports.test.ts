import { describe, expect, it } from "vitest";
import type { ReportInfo } from "../../../src/lib/api/types";
import { menu, opening, sortable, state } from "../../../src/views/reports/reports";

const report = (name: string, fills = true, place = 0): ReportInfo =>
  ({ name, fills, opening: place }) as ReportInfo;

describe("the initial report", () => {
  it("is the first preferred report with data", () => {
    const all = [report("cplact"), report("system", true, 2), report("rmfcpu", true, 1)];
    expect(opening(all)).toBe("rmfcpu");
    expect(opening([report("rmfcpu", false, 1), ...all.slice(0, 2)])).toBe("system");
  });
  it("is any report with data, or none", () => {
    expect(opening([report("system", false, 2), report("cplact")])).toBe("cplact");
    expect(opening([report("system", false, 2)])).toBeNull();
  });
});

describe("reports", () => {
  const report = (name: string, possible: number, fills = possible > 0): ReportInfo => ({
    name,
    fcx: null,
    title: `Title of ${name}`,
    group: "g",
    heading: name === "z" ? "late" : "early",
    opening: 0,
    columns: 4,
    of: 5,
    possible,
    fills,
    systems: fills ? ["SYSA"] : [],
  });

  it("are listed by group and searched by every word", () => {
    const all = [report("a", 3), report("b", 0), report("z", 5)];
    expect(menu(all, "", true).map((group) => group.reports.map((one) => one.name))).toEqual([["a"], ["z"]]);
    expect(menu(all, "title b", false)[0]!.reports.map((one) => one.name)).toEqual(["b"]);
    expect(menu(all, "nothing", false)).toEqual([]);
  });

  it("state how much data they have", () => {
    expect(state(report("a", 3), undefined)).toBe("");
    expect(state(report("b", 0), undefined)).toBe("No data");
    expect(state(report("b", 0), { name: "b", has: 2, of: 4, state: "" })).toBe("2 of 4 columns");
    expect(state(report("b", 0), { name: "b", has: 4, of: 4, state: "" })).toBe("Complete");
  });

  it("become tables without empty columns", () => {
    const number = { key: "a", heading: "A", unit: "s", type: "number" as const, decimals: 1 };
    const found = sortable("prclog", {
      key: "t",
      title: "",
      block: "S",
      columns: [
        { key: "row", heading: "Row", unit: "", type: "text" },
        { key: "flag", heading: "Flag", unit: "", type: "text" },
        number,
        { ...number, unit: "count" },
      ],
      rows: [
        ["row", null, 1, 2],
        ["row", null, 3, "12 of 14"],
      ],
    });
    expect(found.columns.map((one) => [one.key, one.type, one.unit, one.explain])).toEqual([
      ["a", "float", "s", "prclog.a"],
      ["a_2", "text", null, "prclog.a"],
    ]);
    expect(found.rows).toEqual([
      [1, 2],
      [3, "12 of 14"],
    ]);
  });
});
