import { describe, expect, it } from "vitest";
import type { TableInfo } from "../../../src/lib/api/types";
import {
  asJson,
  columnsOf,
  drawn,
  drawnFirst,
  inserted,
  keysOf,
  located,
  named,
  offsetsOf,
  quoted,
  readHistory,
  remembered,
  REMEMBERED,
  searched,
  writeHistory,
} from "../../../src/views/sql/console";

const column = (name: string, unit: string | null = null) => ({
  name,
  type: "float" as const,
  unit,
  text: `text of ${name}`,
  status: null,
  aggregate: null,
  formula: null,
  scope: null,
});

const table = (name: string, kind: TableInfo["kind"], ...columns: TableInfo["columns"]): TableInfo => ({
  name,
  kind,
  text: `rows of ${name}`,
  key: [],
  fills: true,
  columns,
});

const schema = {
  tables: [
    table("load", "measure", column("busy_pct", "%"), column("tv")),
    table("cpu", "measure", column("busy_pct", "%")),
    table("role.sample", "role", column("ticks")),
  ],
};

describe("tables and columns of a query", () => {
  it("finds tables, but not in texts and comments", () => {
    expect(named("select * from LOAD where x = 'cpu' -- role.sample", schema).map((one) => one.name)).toEqual(
      ["load"],
    );
    expect(named("from role.sample", schema).map((one) => one.name)).toEqual(["role.sample"]);
  });

  it("explains columns by table, and distinguishes equal names", () => {
    const found = columnsOf(
      { columns: ["busy_pct", "busy_pct", "n"], types: ["float", "float", "int"] },
      "from cpu",
      schema,
    );
    expect(found.map((one) => [one.key, one.explain, one.unit])).toEqual([
      ["busy_pct", "cpu.busy_pct", "%"],
      ["busy_pct_2", "cpu.busy_pct", "%"],
      ["n", null, null],
    ]);
    expect(
      columnsOf({ columns: ["ticks"], types: ["float"] }, "from role.sample", schema)[0]!.explain,
    ).toBeNull();
  });
});

describe("history", () => {
  const one = (q: string) => ({ q, at: 1, rows: 2, more: false, seconds: 0.1 });

  it("keeps the newest entries without duplicates", () => {
    const history = remembered([one("a"), one("b")], one("b"));
    expect(history.map((each) => each.q)).toEqual(["b", "a"]);
    const many = Array.from({ length: 80 }, (_, n) => one(String(n)));
    expect(remembered(many, one("x"))).toHaveLength(REMEMBERED);
  });

  it("ignores foreign entries", () => {
    expect(readHistory({ getItem: () => "{" })).toEqual([]);
    expect(readHistory({ getItem: () => '[1, {"q": 2}, {"q": "a"}]' }).map((each) => each.q)).toEqual(["a"]);
    const full = {
      setItem: () => {
        throw new Error("full");
      },
    };
    expect(() => writeHistory(full, [one("a")])).not.toThrow();
  });
});

describe("lines of a result", () => {
  const columns = ["time", "name", "a", "b"];
  const types = ["time", "text", "float", "int"] as const;

  it("are one per name, largest first, in time order", () => {
    const found = drawn({
      columns,
      types: [...types],
      rows: [
        ["2026-01-01T00:01:00Z", "x", 1, 1],
        ["2026-01-01T00:00:00Z", "x", 2, 1],
        ["2026-01-01T00:00:00Z", "y", 9, null],
      ],
    })!;
    expect(found.columns).toEqual(["a", "b"]);
    expect(found.lines("a").map((line) => [line.name, line.value])).toEqual([
      ["y", [9]],
      ["x", [2, 1]],
    ]);
    expect(found.window[1] - found.window[0]).toBe(60);
  });

  it("have times in the zone of their row", () => {
    const rows = [
      ["2026-01-01T00:00:00Z", "EAST", 1, 1],
      ["2026-01-01T00:01:00Z", "EAST", 2, 1],
      ["2026-01-01T00:00:00Z", "WEST", 9, 1],
    ];
    const offsetOf = (row: (string | number | boolean | null)[]): number =>
      row[1] === "EAST" ? 7200 : -18000;
    const both = drawn({ columns, types: [...types], rows }, offsetOf)!;
    expect(both.offset).toBeNull();
    expect(both.lines("a").map(({ name, offset }) => [name, offset])).toEqual([
      ["WEST", -18000],
      ["EAST", 7200],
    ]);
    expect(drawn({ columns, types: [...types], rows: rows.slice(0, 2) }, offsetOf)!.offset).toBe(7200);
  });

  it("are split by numbers that are keys, and named by what differs", () => {
    const cpu = { ...table("cpu", "measure"), key: ["system", "interval_end", "cpu_id"] };
    const keys = keysOf("SELECT * FROM cpu", { tables: [cpu] });
    const rows = [0, 1].flatMap((id) => [
      ["2026-01-01T00:00:00Z", "A", id, 10 + id],
      ["2026-01-01T00:01:00Z", "A", id, 20 + id],
    ]);
    const answer = {
      columns: ["interval_end", "system", "cpu_id", "busy_pct"],
      types: ["time", "text", "int", "float"] as ("time" | "text" | "int" | "float")[],
      rows,
    };
    const found = drawn(answer, undefined, keys)!;
    expect(found.columns).toEqual(["busy_pct"]);
    expect(found.lines("busy_pct").map(({ name, value }) => [name, value])).toEqual([
      ["cpu_id 1", [11, 21]],
      ["cpu_id 0", [10, 20]],
    ]);
  });

  it("have times in the zone of the system that the query names", () => {
    const zones: Record<string, number> = { EAST: 7200, WEST: -18000 };
    const offset = (query: string, columns = ["time"], names = ["EAST", "WEST"]): number | null =>
      offsetsOf({ columns }, query, names, (name) => zones[name]!)?.(["WEST"]) ?? null;
    expect(offset("SELECT time FROM load WHERE system = 'WEST'")).toBe(-18000);
    expect(offset("SELECT time FROM load WHERE system = 'EAST'")).toBe(7200);
    expect(offset("SELECT time FROM load")).toBeNull();
    expect(offset("SELECT time FROM load", ["time"], ["EAST"])).toBe(7200);
    expect(offset("SELECT system FROM load WHERE system = 'EAST'", ["system"])).toBe(-18000);
  });

  it("need times, numbers and two intervals", () => {
    expect(drawn({ columns: ["a"], types: ["float"], rows: [[1], [2]] })).toBeNull();
    expect(
      drawn({ columns: ["time"], types: ["time"], rows: [["2026-01-01T00:00:00Z"], [null]] }),
    ).toBeNull();
    const same = ["2026-01-01T00:00:00Z", "x", 1, 1];
    expect(drawn({ columns, types: [...types], rows: [same, same] })).toBeNull();
  });
});

describe("the initial chart", () => {
  const float = (heading: string, explain: string | null = null) => ({
    key: heading,
    heading,
    type: "float" as const,
    explain,
  });

  it("shows a measure, not the interval length", () => {
    const columns = [float("seconds", "load.seconds"), float("x"), float("busy_pct", "load.busy_pct")];
    expect(drawnFirst(["seconds", "x", "busy_pct"], columns)).toBe("busy_pct");
    expect(drawnFirst(["seconds", "x"], columns)).toBe("x");
    expect(drawnFirst(["seconds"], columns)).toBe("seconds");
  });
});

describe("the place of an error", () => {
  it("is a line and a column in characters, not bytes", () => {
    expect(located("SELECT a\nFROM load WHER x", 23)).toEqual({
      line: 2,
      column: 15,
      text: "FROM load WHER x",
    });
    expect(located("SELECT 'é', a FROM lo WHERE (", 29)).toMatchObject({ line: 1, column: 29 });
    expect(located("SELECT", 6)).toMatchObject({ line: 1, column: 7 });
  });
});

describe("editing a query", () => {
  it("inserts names over the selection", () => {
    expect(inserted("SELECT", 6, 6, "busy_pct")).toEqual({ text: "SELECT busy_pct", at: 15 });
    expect(inserted("a old b", 2, 5, "new")).toEqual({ text: "a new b", at: 5 });
    expect(quoted("role.sample")).toBe("role.sample");
    expect(quoted('Odd "name"')).toBe('"Odd ""name"""');
  });

  it("finds tables by name, and columns by name and text", () => {
    expect(searched(schema.tables, "load").map((one) => one.columns.length)).toEqual([2]);
    expect(searched(schema.tables, "BUSY").map((one) => one.name)).toEqual(["load", "cpu"]);
    expect(searched(schema.tables, "rows of role").map((one) => one.name)).toEqual(["role.sample"]);
    expect(searched(schema.tables, " ")).toHaveLength(3);
  });

  it("exports JSON like zlens sql", () => {
    expect(JSON.parse(asJson({ columns: ["a", "b"], rows: [[1, null]] }))).toEqual([{ a: 1, b: null }]);
    expect(JSON.parse(asJson({ columns: ["a"], rows: [] }))).toEqual([]);
  });
});
