import { describe, expect, it } from "vitest";
import { joined, layers, matches, parts } from "../../../src/views/io/devices";
import { withColumns } from "../../../src/lib/api/measures";

describe("parts of a response", () => {
  it("have no rest if service is the sum of its parts", () => {
    expect(parts([0.5, 0.2, 0.3, 0.1, 0.2 + 0.3 + 0.1])).toEqual([0.5, 0.2, 0.3, 0.1, null]);
  });

  it("show the rest of the service", () => {
    expect(parts([0, 0.2, 0.3, 0.1, 1])[4]).toBeCloseTo(0.4);
  });

  it("ignore rounding errors and unknown parts", () => {
    expect(parts([-1e-18, 1, 1, 1, 3])[0]).toBe(0);
    expect(parts([null, null, null, null, null])).toEqual(Array(5).fill(null));
  });

  it("are layers, with the rest only if there is one", () => {
    expect(layers([[1, 2, 3, 4, null]]).map((one) => one.name)).toEqual(["Queue", "Pend", "Disc", "Conn"]);
    expect(layers([[1, 2, 3, 4, 5]])).toHaveLength(5);
  });
});

describe("a search", () => {
  it("matches any text, ignoring case", () => {
    expect(matches("page", ["D010", "PAGE01", null])).toBe(true);
    expect(matches(" d01 ", ["D010", null])).toBe(true);
    expect(matches("", [null])).toBe(true);
    expect(matches("x", ["D010", null])).toBe(false);
  });
});

describe("responses about the same devices", () => {
  const means = withColumns({
    columns: ["system", "source", "device", "rate_mean"],
    rows: [
      ["S", "one", "B", 2],
      ["S", "one", "A", 1],
      ["S", "two", "A", 3],
    ],
    sql: "SELECT 1",
    more: false,
  });
  const facts = withColumns({
    columns: ["system", "source", "device", "volume_last"],
    rows: [
      ["S", "one", "A", "VOL1"],
      ["S", "two", "A", "VOL2"],
    ],
    sql: "SELECT 2",
    more: false,
  });

  it("are merged by source, in the order of the first; missing ones are null", () => {
    const both = joined(means, [facts, null], ["device"]);
    expect(both.columns).toEqual(["system", "source", "device", "rate_mean", "volume_last"]);
    expect(both.rows).toEqual([
      ["S", "one", "B", 2, null],
      ["S", "one", "A", 1, "VOL1"],
      ["S", "two", "A", 3, "VOL2"],
    ]);
    expect(both.sql).toBe("SELECT 1");
  });
});
