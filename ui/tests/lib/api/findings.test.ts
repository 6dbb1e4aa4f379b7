import { describe, expect, it } from "vitest";
import type { Finding } from "../../../src/lib/api/types";
import { addressOf, during, findingAt, gathered, grouped, keyOf } from "../../../src/lib/api/findings";
import { linkForFinding } from "../../../src/views/findings/target";

const finding = (rule: string, severity: Finding["severity"], subject: string, area = "io"): Finding =>
  ({ rule, severity, subject, area, title: rule }) as Finding;

describe("findings", () => {
  it("are grouped by rule, with the worst severity", () => {
    const groups = grouped([finding("A", "warn", "x"), finding("B", "warn", ""), finding("A", "crit", "y")]);
    expect(groups.map((one) => [one.rule, one.severity, one.rows.length])).toEqual([
      ["A", "crit", 2],
      ["B", "warn", 1],
    ]);
  });

  it("of one subject in two sources are separate", () => {
    const [a, b] = ["rmf-xml", "rmf3-xml"].map((data) => ({ ...finding("A", "info", "x"), data }));
    expect(keyOf(a!)).not.toBe(keyOf(b!));
    expect(addressOf(b!)).toEqual({ rule: "A", data: "rmf3-xml", subject: "x" });
    expect(findingAt([a!, b!], "rmf3-xml", "x")).toBe(b);
    expect(findingAt([a!, b!], null, "x")).toBe(a);
    expect(findingAt([a!, b!], null, "y")).toBeUndefined();
  });

  it("link to their subject", () => {
    expect(linkForFinding(finding("A", "warn", "guest LINUX01 of x", "user"))).toEqual({
      view: "guests",
      settings: { user: "LINUX01" },
    });
    expect(linkForFinding(finding("A", "warn", "device D017 PAGE08", "paging"))).toEqual({
      view: "io",
      settings: { device: "D017" },
    });
    expect(linkForFinding(finding("A", "warn", "volume PAGE02", "paging"))?.settings).toEqual({
      find: "PAGE02",
    });
    expect(linkForFinding(finding("A", "warn", "0600 pool 0 PAGING", "io"))?.settings).toEqual({
      pool: "0600.0",
    });
    expect(linkForFinding(finding("A", "warn", "", "smt"))?.view).toBe("processors");
    expect(linkForFinding(finding("A", "warn", "", "data"))).toBeNull();
  });

  it("belong to the intervals in which they hold", () => {
    const holds = (rule: string, from: string, to: string): Finding => ({
      ...finding(rule, "warn", ""),
      from,
      to,
    });
    const rows = [
      holds("BEFORE", "1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z"),
      holds("ACROSS", "1970-01-01T00:01:00Z", "1970-01-01T00:03:00Z"),
      holds("WITHIN", "1970-01-01T00:02:30Z", "1970-01-01T00:02:30Z"),
      holds("AFTER", "1970-01-01T00:09:00Z", "1970-01-01T00:10:00Z"),
    ];
    expect(during(rows, 120, 300).map((row) => row.rule)).toEqual(["ACROSS", "WITHIN"]);
  });

  it("of several stages are merged per system, worst first", () => {
    const row = (rule: string, system: string | null): Finding => ({ ...finding(rule, "warn", ""), system });
    const parts = [
      {
        rows: [row("B", "ONE"), row("X", "TWO")],
        orders: [
          [1, -0.5, "B"],
          [0, 0, "X"],
        ],
        asked: [
          { rule: "B", title: "", systems: null },
          { rule: "X", title: "", systems: ["TWO"] },
        ],
        missing: [{ rule: "M", why: "without a.b" }],
      },
      {
        rows: [row("A", "ONE"), row("C", null)],
        orders: [
          [0, 0, "A"],
          [1, -0.7, "C"],
        ],
        asked: [{ rule: "A", title: "", systems: ["ONE", "TWO"] }],
        missing: [],
      },
    ];
    const found = gathered(parts, "ONE");
    expect(found.rows.map((one) => one.rule)).toEqual(["A", "C", "B"]);
    expect(found.asked).toBe(2);
    expect(found.missing).toEqual([
      { rule: "M", why: "without a.b" },
      { rule: "X", why: "only for TWO" },
    ]);
  });
});
