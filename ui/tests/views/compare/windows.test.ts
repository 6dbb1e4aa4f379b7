import { expect, test } from "vitest";
import { halves, windowOf, windowText } from "../../../src/views/compare/windows";

test("a window of the address goes there and back", () => {
  expect(windowOf("100..200")).toEqual([100, 200]);
  expect(windowOf("..200")).toEqual([null, 200]);
  expect(windowOf("x..")).toEqual([null, null]);
  expect(windowOf(null)).toEqual([null, null]);
  expect(windowText(100.4, null)).toBe("100..");
  expect(windowText(null, null)).toBeNull();
});

test("halves are cut where an interval ends", () => {
  expect(halves([0, 300], 60)).toEqual([
    [0, 180],
    [180, 300],
  ]);
  expect(halves([0, 100], 60)[0]).toEqual([0, 50]);
});
