import { describe, expect, it } from "vitest";
import type { SqlAnswer } from "../src/lib/api";
import { DEVICE_COLUMNS, SPREAD, TIMES, joined, layers, matches, parts } from "../src/lib/devices";

describe("parts of a response", () => {
  it("have no rest where service is the sum of its parts", () => {
    const row = { queue: 0.5, pend: 0.2, disc: 0.3, conn: 0.1, serv: 0.2 + 0.3 + 0.1 };
    expect(parts(row)).toEqual([0.5, 0.2, 0.3, 0.1, null]);
  });

  it("show what is left of the service", () => {
    const row = { queue: 0, pend: 0.2, disc: 0.3, conn: 0.1, serv: 1 };
    expect(parts(row)[4]).toBeCloseTo(0.4);
  });

  it("do not take rounding for a wait, nor the unknown for none", () => {
    expect(parts({ queue: -1e-18, pend: 1, disc: 1, conn: 1, serv: 3 })[0]).toBe(0);
    expect(parts({ queue: null, pend: null, disc: null, conn: null, serv: null })).toEqual(
      Array(5).fill(null),
    );
  });

  it("are layers, the rest only where there is one", () => {
    expect(layers([[1, 2, 3, 4, null]]).map((one) => one.name)).toEqual(["queue", "pend", "disc", "conn"]);
    expect(layers([[1, 2, 3, 4, 5]])).toHaveLength(5);
  });
});

describe("the question", () => {
  it("reads only what is kept", () => {
    const names = (TIMES + SPREAD).match(/\b[a-z]+_(?:s|rate)\b|\brate\b|\bseconds\b/g) ?? [];
    expect(names.length).toBeGreaterThan(10);
    for (const name of names.filter((one) => !one.endsWith("_ms"))) expect(DEVICE_COLUMNS).toContain(name);
  });
});

describe("a search", () => {
  it("finds by any of the texts, whatever the case", () => {
    expect(matches("page", ["D010", "PAGE01", null])).toBe(true);
    expect(matches(" d01 ", ["D010", null])).toBe(true);
    expect(matches("", [null])).toBe(true);
    expect(matches("x", ["D010", null])).toBe(false);
  });
});

describe("answers about the same devices", () => {
  const means = {
    columns: ["device", "rate"],
    types: ["text", "float"],
    rows: [
      ["B", 2],
      ["A", 1],
    ],
    more: false,
    seconds: 0,
  } as SqlAnswer;
  const facts = {
    ...means,
    columns: ["device", "volume"],
    types: ["text", "text"],
    rows: [["A", "VOL1"]],
  } as SqlAnswer;

  it("stand side by side in the order of the first; what is not there yet is null", () => {
    const both = joined(means, [facts, null], ["device", "volume", "resp_p95_ms"]);
    expect(both.columns).toEqual(["device", "rate", "volume", "resp_p95_ms"]);
    expect(both.types).toEqual(["text", "float", "text", "float"]);
    expect(both.rows).toEqual([
      ["B", 2, null, null],
      ["A", 1, "VOL1", null],
    ]);
  });
});
