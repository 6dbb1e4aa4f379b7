import { describe, expect, it } from "vitest";
import type { Cell } from "../../../src/lib/api/values";
import { columnLabel } from "../../../src/lib/text/names";
import type { TimeSeries, Line } from "../../../src/lib/api/series";
import { withColumns } from "../../../src/lib/api/measures";
import {
  rowNote,
  chosen,
  filled,
  heatRows,
  processors,
  threaded,
  PROCESSOR_METRICS,
} from "../../../src/views/processors/processors";

const line = (by: number, column: string, values: (number | null)[]): Line => ({
  by,
  source: "zvm-monitor",
  column,
  t: values.map((_, at) => at * 60),
  seconds: values.map(() => 60),
  min: values,
  max: values.map((one) => (one === null ? null : one + 1)),
  p50: values,
  p95: values,
});

const answer = (columns: string[], rows: Cell[][]) => withColumns({ columns, rows, sql: "", more: false });
const told = (...rows: Cell[][]) => {
  const names = ["core_id_last", "thread_id_last", "cpu_type_last", "polarity_first", "polarity_last"];
  return answer(["cpu_id", ...names, "entitlement_pct_last"], rows);
};

describe("processors", () => {
  it("are sorted by core and thread, without core last", () => {
    const all = processors(
      told(
        [9, null, null, "IFL", null, null, null],
        [3, 1, 1, "IFL", "Vm", "Vl", 50],
        [2, 1, 0, "IFL", "Vm", "Vm", 50],
        [0, 0, 0, "IFL", "Vh", "Vh", 100],
        [null, 4, 0, "IFL", "Vh", "Vh", 100],
      ),
    );
    expect(all.map((one) => one.cpu)).toEqual([0, 2, 3, 9]);
    expect(threaded(all)).toBe(true);
    expect(threaded(all.slice(0, 2))).toBe(false);
    expect(all[3]).toMatchObject({ core: null, polarity: null, entitlement: null });
    expect(all[2]!.polarity).toBe("Vm/Vl");
    expect(processors(null)).toEqual([]);
  });

  it("show polarity and entitlement, and the type if there are several", () => {
    const [one] = processors(told([0, 0, 0, "IFL", "Vm", "Vm", 33.333]));
    expect(rowNote(one!, 1)).toBe("Vm 33.3%");
    expect(rowNote(one!, 2)).toBe("IFL Vm 33.3%");
    expect(rowNote({ ...one!, polarity: null, entitlement: null }, 1)).toBe("");
  });
});

describe("the heat map", () => {
  const course: TimeSeries = {
    bucket_s: 0,
    sql: "",
    lines: [
      line(0, "busy_pct", [10, null, 30]),
      line(0, "parked_pct", [0, 0, 100]),
      line(1, "busy_pct", [1, 2, 3]),
      { ...line(2, "busy_pct", [1]), by: null },
    ],
  };

  it("has a row per processor with parked intervals", () => {
    const rows = heatRows(course, "busy_pct", "p50");
    expect([...rows.keys()]).toEqual([0, 1]);
    expect(rows.get(0)!.value).toEqual([10, null, 30]);
    expect(rows.get(0)!.parked).toEqual([false, false, true]);
    expect(rows.get(0)!.range).toEqual(["From 10 to 11", null, "From 30 to 31"]);
    expect(rows.get(1)!.parked).toEqual([false, false, false]);
  });

  it("shows another level", () => {
    expect(heatRows(course, "busy_pct", "max").get(1)!.value).toEqual([2, 3, 4]);
    expect(heatRows(null, "busy_pct", "max").size).toBe(0);
  });
});

describe("the choice", () => {
  it("falls back to the first", () => {
    expect(chosen("system_pct", PROCESSOR_METRICS)).toBe("system_pct");
    expect(chosen("nonsense", PROCESSOR_METRICS)).toBe("busy_pct");
    expect(chosen(null, PROCESSOR_METRICS)).toBe("busy_pct");
  });

  it("recognizes options with data", () => {
    const counted = answer(
      ["a_count", "b_count"],
      [
        [0, 0],
        [3, 0],
      ],
    );
    expect([...filled(["a", "b", "c"], counted)]).toEqual(["a"]);
    expect(filled(["a"], null).size).toBe(0);
  });

  it("has readable names", () => {
    expect(columnLabel("mt_utilization_pct")).toBe("MT utilization");
    expect(columnLabel("busy_pct")).toBe("Busy");
    expect(columnLabel("thread_density")).toBe("Thread density");
  });
});
