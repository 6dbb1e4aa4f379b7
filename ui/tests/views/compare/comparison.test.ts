import { expect, test } from "vitest";
import {
  largest,
  noise,
  result,
  shown,
  waterfalls,
  type Difference,
} from "../../../src/views/compare/comparison";

const difference = (changes: Partial<Difference>): Difference => ({
  system: "S",
  group: "G",
  metric: "load.busy_pct",
  heading: "Busy",
  subject: "",
  unit: "%",
  direction: "none",
  doubt: null,
  base: "base",
  other: "other",
  base_value: 10,
  other_value: 20,
  form: "other/base",
  change: 2,
  ratio: 2,
  percent: 100,
  points: 10,
  beyond_noise: null,
  outside_5_pct: true,
  better: null,
  tested_by: "none",
  not_tested: "few",
  p: null,
  noise: null,
  base_samples: null,
  other_samples: null,
  ...changes,
});

test("numbers are formatted like zlens compare", () => {
  expect(shown(24.25, "points")).toBe("+24.3");
  expect(shown(-1.06, "points")).toBe("-1.06");
  expect(shown(0.0182, "points")).toBe("+0.0182");
  expect(shown(-0.00001, "points")).toBe("-1.00e-5");
  expect(shown(1.0634, "other/base")).toBe("1.063");
  expect(shown(12.34, "percent")).toBe("+12.3");
  expect(shown(null, "percent")).toBe("–");
});

test("test results are described in words", () => {
  expect(result(difference({}))).toBe("not tested");
  expect(result(difference({ p: 0.001, beyond_noise: true, better: false }))).toBe("exceeds noise, worse");
  expect(result(difference({ p: 0.5, beyond_noise: false, outside_5_pct: false, better: true }))).toBe(
    "within noise",
  );
  expect(noise(difference({ noise: 0.5 }))).toBe("±5%");
  expect(noise(difference({ noise: 0.5, form: "points" }))).toBe("±0.500");
});

test("bars keep the server's order and skip missing percentages", () => {
  const rows = [
    difference({ heading: "a", ratio: 9, percent: 800 }),
    difference({ heading: "c", p: 0.001, beyond_noise: true, ratio: 0.5, percent: -50 }),
    difference({ heading: "e", ratio: null, percent: null }),
    difference({ heading: "b", p: 0.5, beyond_noise: false, ratio: 1.1, percent: 10 }),
  ];
  expect(largest(rows, 9).map((row) => row.heading)).toEqual(["a", "c", "b"]);
  expect(largest(rows, 1)).toHaveLength(1);
});

test("small parts of a waterfall are combined", () => {
  const part = { system: "S", base: "b", other: "o", unit: "ms", base_value: 10, other_value: 13 };
  const found = waterfalls([
    { ...part, waterfall: "W", part: "x", change: 1 },
    { ...part, waterfall: "W", part: "y", change: 2 },
    { ...part, waterfall: "V", part: "z", change: 3 },
  ]);
  expect(found.map((one) => [one.title, one.parts.length])).toEqual([
    ["W", 2],
    ["V", 1],
  ]);
});
