import { afterEach, describe, expect, it } from "vitest";
import type { AggregateAnswer, ColumnInfo, TableInfo } from "../../../src/lib/api/types";
import { session } from "../../../src/lib/api/session.svelte";
import { asked, cells, everything, tableColumns, unitOf } from "../../../src/lib/api/tables";
import { withColumns, lines } from "../../../src/lib/api/measures";

const column = (name: string, aggregate: string, unit = "", type = "float"): ColumnInfo =>
  ({ name, aggregate, unit, type, text: `text of ${name}` }) as ColumnInfo;

const disk = (columns: ColumnInfo[]): TableInfo => ({
  name: "disk",
  kind: "measure",
  text: "",
  key: ["disk"],
  fills: true,
  columns,
});

const COLUMNS = [
  column("disk", "key", "", "text"),
  column("flag", "state", "", "text"),
  column("resp_s", "ratio", "s"),
  column("busy_s", "time", "s"),
  column("volume", "state", "", "text"),
];

afterEach(() => {
  session.tables.clear();
});

describe("a response", () => {
  it("returns columns by name and numbers as numbers", () => {
    const one = withColumns({
      columns: ["a", "b"],
      rows: [
        [1, "x"],
        [null, "y"],
      ],
      sql: "SELECT",
      more: false,
    });
    expect(one.numbers("a")).toEqual([1, null]);
    expect(one.column("b")).toEqual(["x", "y"]);
    expect(one.numbers("b")).toEqual([null, null]);
    expect(one.column("c")).toEqual([null, null]);
  });

  it("has rows as long as their interval or bucket, whichever is longer", () => {
    const lengths = (bucket_s: number): number[] =>
      withColumns({
        columns: ["seconds_last"],
        rows: [[60], [900], [null]],
        sql: "",
        more: false,
        bucket_s,
      }).lengths();
    expect(lengths(0)).toEqual([60, 900, 60]);
    expect(lengths(120)).toEqual([120, 900, 120]);
  });
});

describe("series of a response", () => {
  const answer = (bucket_s: number, top: AggregateAnswer["top"] = null): AggregateAnswer => ({
    columns: ["system", "source", "disk", "t", "a_min", "a_max", "a_p50", "a_last"],
    rows: [
      ["S", "vm", "A", 120, 1, 3, 2, 2.5],
      ["S", "vm", "A", 60, null, null, null, 9],
      ["S", "vm", "B", 60, 4, 6, 5, 5.5],
    ],
    units: {},
    bucket_s,
    wholes: {},
    top,
    sql: "",
    more: false,
  });

  it("are one per subject, in time order", () => {
    const [a, b] = lines(answer(300), ["a"], "disk");
    expect([a!.by, b!.by]).toEqual(["A", "B"]);
    expect(a).toMatchObject({ t: [60, 120], min: [null, 1], max: [null, 3], p50: [null, 2], p95: [] });
    expect(a!.seconds).toEqual([]);
  });

  it("have the lengths of their intervals", () => {
    const own = answer(0);
    own.columns.push("seconds_last");
    own.rows = own.rows.map((row, at) => [...row, [900, 60, 900][at]!]);
    expect(lines(own, ["a"], "disk").map(({ seconds }) => seconds)).toEqual([[60, 900], [900]]);
  });

  it("show every interval unchanged, including flagged ones", () => {
    const [a] = lines(answer(0), ["a"], "disk");
    expect(a).toMatchObject({ min: [9, 2.5], max: [9, 2.5], p50: [9, 2.5] });
  });

  it("are sorted if only the largest are requested", () => {
    expect(lines(answer(300, ["B", "A"]), ["a"], "disk").map((one) => one.by)).toEqual(["B", "A"]);
  });

  it("of two sources are separate", () => {
    const both = answer(300);
    both.rows.push(["S", "smf", "A", 60, 7, 7, 7, 7]);
    expect(lines(both, ["a"], "disk").map((one) => [one.by, one.source])).toEqual([
      ["A", "vm"],
      ["B", "vm"],
      ["A", "smf"],
    ]);
  });

  it("of consecutive sources are one", () => {
    const both = answer(300);
    both.rows.push(["S", "smf", "A", 180, 7, 7, 7, 7]);
    const [a, b, ...more] = lines(both, ["a"], "disk");
    expect(more).toEqual([]);
    expect([a!.source, b!.source]).toEqual(["vm, smf", "vm, smf"]);
    expect(a).toMatchObject({ t: [60, 120, 180], p50: [null, 2, 7] });
  });
});

describe("columns of a table", () => {
  it("have the statistic of the catalog by default", () => {
    session.tables.set("disk", disk(COLUMNS));
    const shown = [{ column: "resp_s" }, { column: "resp_s", what: "max" as const }, { column: "busy_s" }];
    expect(asked("disk", [...shown, { column: "volume" }])).toEqual({
      resp_s: ["mean", "max"],
      busy_s: ["total"],
      volume: ["last"],
    });
  });

  it("have the headings, units and texts of the catalog", () => {
    session.tables.set("disk", disk(COLUMNS));
    const columns = tableColumns("disk", ["disk"], [{ column: "resp_s", what: "p95" }, { column: "busy_s" }]);
    expect(columns.map((one) => [one.key, one.heading, one.unit, one.times])).toEqual([
      ["disk", "Disk", undefined, undefined],
      ["resp_s_p95", "Response time, p95", "ms", 1000],
      ["busy_s_total", "Busy time", "s", undefined],
    ]);
    expect(columns[1]).toMatchObject({
      explain: "disk.resp_s",
      text: "text of resp_s; of the intervals: p95",
    });
    const answer = withColumns({ columns: ["busy_s_total", "disk"], rows: [[1, "A"]], sql: "", more: false });
    expect(cells(answer, columns)).toEqual([["A", null, 1]]);
  });

  it("are all columns if none is named", () => {
    session.tables.set("disk", disk([...COLUMNS, column("wait_count", "counter", "count", "int")]));
    const all = everything("disk", [{ column: "resp_s" }]);
    expect(all.map((one) => one.column)).toEqual(["resp_s", "busy_s", "volume", "wait_count"]);
    expect(tableColumns("disk", [], all).at(-1)).toMatchObject({
      key: "wait_count_total",
      heading: "Wait count",
      type: "int",
    });
  });

  it("have readable names", () => {
    expect(unitOf(column("read_rate", "ratio", "bytes/s"))).toEqual({ unit: "MB/s", times: 1e-6 });
    expect(unitOf(column("busy_pct", "ratio", "%"))).toEqual({ unit: "%" });
  });
});
