import { describe, expect, it } from "vitest";
import {
  formatChange,
  formatColumn,
  formatColumnExact,
  formatFixed,
  formatPrecise,
  formatQuantity,
  formatShort,
  formatTick,
  plural,
  withUnit,
} from "../../../src/lib/text/numbers";

describe("numbers of a column", () => {
  it("have the digits of zlens sql", () => {
    expect(formatColumnExact([66.76, 1.5, null])).toEqual(["66.76", "1.50", "–"]);
    expect(formatColumnExact([8.9578e-6, 0])).toEqual(["8.9578e-06", "0"]);
    expect(formatColumnExact([31_314_807, 0])).toEqual(["31314807", "0"]);
    expect(formatColumnExact([0.000123456, 0.5])).toEqual(["0.00012", "0.50000"]);
    expect(formatColumnExact([])).toEqual([]);
  });

  // Blanks as wide as a digit and as a decimal point are shown as `_` and `,`.
  const seen = (values: (number | null)[]) =>
    formatColumn(values).map((text) => text.replaceAll("\u2007", "_").replaceAll("\u2008", ","));

  it("have four significant digits in tables, aligned at the decimal point", () => {
    expect(seen([66.23456, 166.23456, 1.5, null])).toEqual(["66.23_", "166.2__", "1.500", "–"]);
    expect(seen([5253.61, 4259.12, 23.44])).toEqual(["5,254,__", "4,259,__", "23.44"]);
    expect(seen([23_189.4567, 12_345.1])).toEqual(["23,189", "12,345"]);
    expect(seen([1.0884, 1.09123])).toEqual(["1.088", "1.091"]);
    expect(seen([9.9996, 99.996, -0.99999])).toEqual(["10.00_", "100.0__", "-1.000"]);
  });

  it("have three significant digits below 1", () => {
    expect(seen([0.17912, 0.49321, 0])).toEqual(["0.179", "0.493", "0,___"]);
    expect(seen([0.00123456, 0.00234567])).toEqual(["0.00123", "0.00235"]);
    expect(seen([1.5e-9, 0, null])).toEqual(["1.50e-9", "0", "–"]);
    expect(seen([1.619954, 0.00089, 1234.56])).toEqual(["1.620", "8.90e-4", "1,235,___"]);
  });

  it("never have five, except before the decimal point", () => {
    for (let power = -7; power < 14; power += 1) {
      for (const digits of [1, 1.2345678, 4.99996, 9.99996]) {
        const [text] = formatColumn([digits * 10 ** power, 0.123456]);
        const whole = text!.trim().split("e")[0]!;
        const count = whole.replace(/[.,]/g, "").replace(/^0+/, "").length;
        expect(count, text).toBeLessThanOrEqual(Math.max(4, whole.includes(".") ? 0 : power + 2));
      }
    }
  });

  it("are integers if all values are", () => {
    expect(formatColumn([100, 5, 31_314_807, null])).toEqual(["100", "5", "31,314,807", "–"]);
    expect(seen([100, 0.5])).toEqual(["100.0__", "0.500"]);
  });

  it("can all be zero or unknown", () => {
    expect(formatColumn([0, 0])).toEqual(["0", "0"]);
    expect(formatColumn([null])).toEqual(["–"]);
    expect(formatColumn([])).toEqual([]);
  });

  it("have six significant digits in tooltips, integers all", () => {
    expect(formatPrecise(61.73940123)).toBe("61.7394");
    expect(formatPrecise(31_314_807)).toBe("31,314,807");
    expect(formatPrecise(23_189_345.678)).toBe("23,189,346");
    expect(formatPrecise(null)).toBe("not available");
  });
});

describe("single numbers", () => {
  it("have three significant digits in tiles, whole ones below 10,000 all", () => {
    expect([0, 14, 9999, 56.98, 3.5, 0.90715, 0.0004, 1530.6].map(formatShort)).toEqual(
      ["0", "14", "9,999", "57.0", "3.50", "0.907", "4.00e-4", "1,531"], // prettier-ignore
    );
    expect([12_345, 999_999, 4_567_890, 1.2e9, null, NaN].map(formatShort)).toEqual(
      ["12.3k", "1.00M", "4.57M", "1.20G", "–", "–"], // prettier-ignore
    );
  });

  it("of an axis have the digits they need", () => {
    expect([0, 0.5, 99.55, 2000, 12_340, 2.5e6].map(formatTick)).toEqual(
      ["0", "0.5", "99.55", "2,000", "12.34k", "2.5M"], // prettier-ignore
    );
  });

  it("have as many decimals as are asked for, no -0, and a sign if they are differences", () => {
    expect([formatFixed(1234.5, 2), formatFixed(-0.001, 1), formatFixed(null, 1)]).toEqual([
      "1,234.50",
      "0.0",
      "–",
    ]);
    expect([formatChange(12.34, 1), formatChange(-3), formatChange(0.001, 1)]).toEqual([
      "+12.3",
      "-3",
      "0.0",
    ]);
  });

  it("agree with what they count", () => {
    expect(plural(1, "interval")).toBe("1 interval");
    expect(plural(1234, "row")).toBe("1,234 rows");
    expect(plural(2, "finding or warning", "findings and warnings")).toBe("2 findings and warnings");
  });

  it("have their unit, unless it says nothing or there is no number", () => {
    expect(withUnit("99.8", "%")).toBe("99.8%");
    expect(withUnit("5.2", "/s")).toBe("5.2/s");
    expect(withUnit("5.2", "ms")).toBe("5.2\u00a0ms");
    expect(withUnit("1.1", "ratio")).toBe("1.1");
    expect(withUnit("–", "%")).toBe("–");
    expect(withUnit(formatPrecise(null), "ms")).toBe("not available");
  });

  it("have no power of ten as percentages", () => {
    expect(formatQuantity(5.56e-4, "%")).toBe("<0.001%");
    expect(formatQuantity(-5.56e-4, "% of 1")).toBe(">-0.001% of 1");
    expect(formatQuantity(5.56e-4, "s")).toBe("5.56e-4\u00a0s");
    expect([0, 0.0009999, 0.00123, 186.4].map((value) => formatQuantity(value, "%"))).toEqual([
      "0%",
      "0.00100%",
      "0.00123%",
      "186%",
    ]);
    expect(formatQuantity(null, "%")).toBe("–");
    expect(formatColumn([9.44e-4, 1.5], "%").map((text) => text.trim())).toEqual(["<0.001", "1.500"]);
    expect(formatColumn([9.44e-4, 1.5], "s").map((text) => text.trim())).toEqual(["9.44e-4", "1.500"]);
  });
});
