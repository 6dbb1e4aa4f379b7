import { expect, test } from "vitest";
import { halves, windowOf, windowText } from "../../../src/views/compare/windows";

test("a window round-trips through the address", () => {
  expect(windowOf("100..200")).toEqual([100, 200]);
  expect(windowOf("..200")).toEqual([null, 200]);
  expect(windowOf("x..")).toEqual([null, null]);
  expect(windowOf(null)).toEqual([null, null]);
  expect(windowText(100.4, null)).toBe("100..");
  expect(windowText(null, null)).toBeNull();
});

test("halves are split at an interval end", () => {
  expect(halves([0, 300], 60)).toEqual([
    [0, 180],
    [180, 300],
  ]);
  expect(halves([0, 100], 60)[0]).toEqual([0, 50]);
});
