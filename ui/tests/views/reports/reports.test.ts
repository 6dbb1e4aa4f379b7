import { describe, expect, it } from "vitest";
import type { ReportInfo } from "../../../src/lib/api/answers";
import { opening } from "../../../src/views/reports/reports";

const report = (name: string, fills = true): ReportInfo => ({ name, fills }) as ReportInfo;

describe("the report that is open at first", () => {
  const all = [report("cplact"), report("system"), report("rmfcpu"), report("prclog")];
  it("is one that suits the system", () => {
    expect(opening(all, [{ source: "zvm-monitor" }])).toBe("system");
    expect(opening(all, [{ source: "smf" }])).toBe("rmfcpu");
  });
  it("is one with data, and none where there is none", () => {
    expect(opening([report("system", false), report("prclog")], [{ source: "zvm-monitor" }])).toBe("prclog");
    expect(opening([report("cplact")], [{ source: "smf" }])).toBe("cplact");
    expect(opening([report("system", false)], [])).toBeNull();
  });
});
