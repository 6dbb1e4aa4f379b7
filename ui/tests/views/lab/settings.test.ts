import { expect, test } from "vitest";
import {
  joined,
  linesOf,
  settingOf,
  settled,
  sliderOf,
  withSetting,
  type ScenarioNumber,
} from "../../../src/views/lab/settings";

const number = (changes: Partial<ScenarioNumber>): ScenarioNumber => ({
  path: "user.A.relative",
  value: 100,
  low: 1,
  high: 10_000,
  above: false,
  whole: true,
  unit: "",
  text: "",
  allowed: "",
  ...changes,
});

test("settings round-trip through the address", () => {
  expect(linesOf(joined(["a=1", "b.c=x y"]))).toEqual(["a=1", "b.c=x y"]);
  expect(linesOf(null)).toEqual([]);
  expect(joined([])).toBeNull();
});

test("a setting is changed in place", () => {
  expect(withSetting(["a=1", "b=2"], "a", "3")).toEqual(["a=3", "b=2"]);
  expect(withSetting(["a=1"], "b", "2")).toEqual(["a=1", "b=2"]);
  expect(withSetting(["a=1", "b=2"], "a", null)).toEqual(["b=2"]);
  expect(settingOf(["a=1.5"], "a")).toBe(1.5);
  expect(settingOf(["a=NOLIMIT"], "a")).toBeNull();
  expect(settingOf([], "a")).toBeNull();
});

test("a slider covers a usable part of the allowed range", () => {
  expect(sliderOf(number({}), 100)).toEqual({ min: 1, max: 400, step: 1 });
  expect(sliderOf(number({ value: 20, low: 0.1, high: 100, whole: false }), 20)).toMatchObject({
    min: 0.1,
    max: 100,
  });
  expect(sliderOf(number({ value: 2, low: 1, high: 128 }), 40)).toMatchObject({ min: 1, max: 40 });
  const above = sliderOf(number({ value: 0.3, low: 0, high: null, above: true, whole: false }), 0.3);
  expect(above.min).toBeGreaterThan(0);
  expect(above.max).toBeCloseTo(1.2);
  expect(sliderOf(number({ value: 0, low: 0, high: 10, whole: true }), 0)).toEqual({
    min: 0,
    max: 10,
    step: 1,
  });
  expect(settled(0.1 + 0.2)).toBe("0.3");
});
