import { describe, expect, it } from "vitest";
import type { Finding } from "../../../src/lib/api/answers";
import { grouped } from "../../../src/lib/api/findings";
import { placeOf } from "../../../src/views/findings/target";

const finding = (rule: string, severity: Finding["severity"], subject: string, area = "io"): Finding =>
  ({ rule, severity, subject, area, title: rule }) as Finding;

describe("findings", () => {
  it("stand by rule, as bad as their worst, in their order", () => {
    const groups = grouped([finding("A", "warn", "x"), finding("B", "warn", ""), finding("A", "crit", "y")]);
    expect(groups.map((one) => [one.rule, one.severity, one.rows.length])).toEqual([
      ["A", "crit", 2],
      ["B", "warn", 1],
    ]);
  });

  it("lead to what they are about", () => {
    expect(placeOf(finding("A", "warn", "guest LINUX01 of x", "user"))).toEqual({
      view: "guests",
      settings: { user: "LINUX01" },
    });
    expect(placeOf(finding("A", "warn", "device D017 PAGE08", "paging"))).toEqual({
      view: "io",
      settings: { device: "D017" },
    });
    expect(placeOf(finding("A", "warn", "volume PAGE02", "paging"))?.settings).toEqual({ find: "PAGE02" });
    expect(placeOf(finding("A", "warn", "0600 pool 0 PAGING", "io"))?.settings).toEqual({ pool: "0600.0" });
    expect(placeOf(finding("A", "warn", "", "smt"))?.view).toBe("processors");
    expect(placeOf(finding("A", "warn", "", "data"))).toBeNull();
  });
});
