import { describe, expect, it } from "vitest";
import { figures, precise, PRECISE } from "../../../src/lib/text/numbers";

describe("numbers of a column", () => {
  it("have the digits that zlens sql prints", () => {
    expect(figures([66.76, 1.5, null], PRECISE)).toEqual(["66.76", "1.50", "…"]);
    expect(figures([8.9578e-6, 0], PRECISE)).toEqual(["8.9578e-06", "0"]);
    expect(figures([31_314_807, 0], PRECISE)).toEqual(["31314807", "0"]);
    expect(figures([0.000123456, 0.5], PRECISE)).toEqual(["0.00012", "0.50000"]);
    expect(figures([])).toEqual([]);
  });

  it("have four significant digits in tables", () => {
    expect(figures([166.23456, 1.5, null])).toEqual(["166.2", "1.5", "…"]);
    expect(figures([12.34567, 0.00123456])).toEqual(["12.35", "0.0012"]);
    expect(figures([23_189.4567, 1])).toEqual(["23189", "1"]);
  });

  it("have six significant digits in tooltips, whole ones all", () => {
    expect(precise(61.73940123)).toBe("61.7394");
    expect(precise(31_314_807)).toBe("31314807");
    expect(precise(23_189_345.678)).toBe("23189346");
    expect(precise(null)).toBe("not computable");
  });
});
