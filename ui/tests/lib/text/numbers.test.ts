import { describe, expect, it } from "vitest";
import { figures, precise, printedFigures } from "../../../src/lib/text/numbers";

describe("numbers of a column", () => {
  it("have the digits that zlens sql prints", () => {
    expect(printedFigures([66.76, 1.5, null])).toEqual(["66.76", "1.50", "…"]);
    expect(printedFigures([8.9578e-6, 0])).toEqual(["8.9578e-06", "0"]);
    expect(printedFigures([31_314_807, 0])).toEqual(["31314807", "0"]);
    expect(printedFigures([0.000123456, 0.5])).toEqual(["0.00012", "0.50000"]);
    expect(printedFigures([])).toEqual([]);
  });

  it("have four significant digits of the typical value in tables, and the same decimals", () => {
    expect(figures([66.23456, 76.23456, 1.5, null])).toEqual(["66.23", "76.23", "1.50", "…"]);
    expect(figures([5253.61, 4259.12, 23.44])).toEqual(["5254", "4259", "23"]);
    expect(figures([23_189.4567, 12_345.1, 1])).toEqual(["23189", "12345", "1"]);
    expect(figures([1.0884, 1.09123])).toEqual(["1.088", "1.091"]);
    expect(figures([1.5, 2.25])).toEqual(["1.50", "2.25"]);
  });

  it("have three where a larger value would get five", () => {
    expect(figures([15.509, 1.2345, 2.3456])).toEqual(["15.51", "1.23", "2.35"]);
    expect(figures([66.23456, 166.23456, 1.5, null])).toEqual(["66.2", "166.2", "1.5", "…"]);
    expect(figures([15.509, 1.2345, 0.2])).toEqual(["15.51", "1.23", "0.20"]);
  });

  it("have three significant digits below 1", () => {
    expect(figures([0.17912, 0.49321, 0])).toEqual(["0.179", "0.493", "0.000"]);
    expect(figures([0.00123456, 0.00234567])).toEqual(["0.00123", "0.00235"]);
    expect(figures([1.5e-9, 0, null])).toEqual(["1.5e-09", "0", "…"]);
  });

  it("do not give a large value the decimals of small ones", () => {
    expect(figures([1.619954, 0.00089, 0.00027])).toEqual(["1.6200", "0.0009", "0.0003"]);
    expect(figures([0.493215, 0.00089, 0.00027])).toEqual(["0.49322", "0.00089", "0.00027"]);
    expect(figures([1234.56, 0.5, 0.25])).toEqual(["1234.6", "0.5", "0.3"]);
  });

  it("may be all zero or all unknown", () => {
    expect(figures([0, 0])).toEqual(["0", "0"]);
    expect(figures([null])).toEqual(["…"]);
    expect(figures([])).toEqual([]);
  });

  it("have six significant digits in tooltips, whole ones all", () => {
    expect(precise(61.73940123)).toBe("61.7394");
    expect(precise(31_314_807)).toBe("31314807");
    expect(precise(23_189_345.678)).toBe("23189346");
    expect(precise(null)).toBe("not computable");
  });
});
