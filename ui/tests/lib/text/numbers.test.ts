import { describe, expect, it } from "vitest";
import { formatColumn, formatPrecise, formatColumnExact } from "../../../src/lib/text/numbers";

describe("numbers of a column", () => {
  it("have the digits of zlens sql", () => {
    expect(formatColumnExact([66.76, 1.5, null])).toEqual(["66.76", "1.50", "…"]);
    expect(formatColumnExact([8.9578e-6, 0])).toEqual(["8.9578e-06", "0"]);
    expect(formatColumnExact([31_314_807, 0])).toEqual(["31314807", "0"]);
    expect(formatColumnExact([0.000123456, 0.5])).toEqual(["0.00012", "0.50000"]);
    expect(formatColumnExact([])).toEqual([]);
  });

  // Blanks as wide as a digit and as a decimal point, seen as `_` and `,`.
  const seen = (values: (number | null)[]) =>
    formatColumn(values).map((text) => text.replaceAll("\u2007", "_").replaceAll("\u2008", ","));

  it("have four significant digits in tables, aligned at the decimal point", () => {
    expect(seen([66.23456, 166.23456, 1.5, null])).toEqual(["66.23_", "166.2__", "1.500", "…"]);
    expect(seen([5253.61, 4259.12, 23.44])).toEqual(["5254,__", "4259,__", "23.44"]);
    expect(seen([23_189.4567, 12_345.1])).toEqual(["23189", "12345"]);
    expect(seen([1.0884, 1.09123])).toEqual(["1.088", "1.091"]);
    expect(seen([9.9996, 99.996, -0.99999])).toEqual(["10.00_", "100.0__", "-1.000"]);
  });

  it("have three significant digits below 1", () => {
    expect(seen([0.17912, 0.49321, 0])).toEqual(["0.179", "0.493", "0,___"]);
    expect(seen([0.00123456, 0.00234567])).toEqual(["0.00123", "0.00235"]);
    expect(seen([1.5e-9, 0, null])).toEqual(["1.5e-09", "0", "…"]);
    expect(seen([1.619954, 0.00089, 1234.56])).toEqual(["1.620___", "0.000890", "1235,______"]);
  });

  it("never have five, except before the decimal point", () => {
    for (let power = -7; power < 14; power += 1) {
      for (const digits of [1, 1.2345678, 4.99996, 9.99996]) {
        const [text] = formatColumn([digits * 10 ** power, 0.123456]);
        const whole = text!.trim().split("e")[0]!;
        const count = whole.replace(".", "").replace(/^0+/, "").length;
        expect(count, text).toBeLessThanOrEqual(Math.max(4, whole.includes(".") ? 0 : power + 2));
      }
    }
  });

  it("are integers if all values are", () => {
    expect(formatColumn([100, 5, 31_314_807, null])).toEqual(["100", "5", "31314807", "…"]);
    expect(seen([100, 0.5])).toEqual(["100.0__", "0.500"]);
  });

  it("can all be zero or unknown", () => {
    expect(formatColumn([0, 0])).toEqual(["0", "0"]);
    expect(formatColumn([null])).toEqual(["…"]);
    expect(formatColumn([])).toEqual([]);
  });

  it("have six significant digits in tooltips, integers all", () => {
    expect(formatPrecise(61.73940123)).toBe("61.7394");
    expect(formatPrecise(31_314_807)).toBe("31314807");
    expect(formatPrecise(23_189_345.678)).toBe("23189346");
    expect(formatPrecise(null)).toBe("not available");
  });
});
