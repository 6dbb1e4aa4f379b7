import { describe, expect, it } from "vitest";
import { anyWithin, expandRuns, neighbor, snapWindow } from "../../../src/lib/time/intervals";

const ends = expandRuns([
  [60, 60, 3],
  [600, 60, 2],
]);

describe("windows", () => {
  it("find the interval ends of all ranges", () => {
    expect(ends).toEqual([60, 120, 180, 600, 660]);
  });

  it("snap to the nearest interval ends", () => {
    expect(snapWindow(ends, 0, [50, 130])).toEqual([60, 120]);
    expect(snapWindow(ends, 0, [10, 660])).toEqual([0, 660]);
    expect(snapWindow(ends, 0, [-500, 5000])).toEqual([0, 660]);
  });

  it("contain at least one interval", () => {
    expect(snapWindow(ends, 0, [70, 80])).toEqual([60, 120]);
    expect(snapWindow(ends, 0, [119, 121])).toEqual([120, 180]);
    expect(snapWindow(ends, 0, [1, 2])).toEqual([0, 60]);
    expect(snapWindow(ends, 0, [700, 800])).toEqual([600, 660]);
    expect(snapWindow([], 0, [1, 2])).toEqual([1, 2]);
  });

  it("without an interval end link to the next one", () => {
    expect(anyWithin(ends, [60, 120])).toBe(true);
    expect(anyWithin(ends, [60, 119])).toBe(false);
    expect(anyWithin(ends, [200, 500])).toBe(false);
    expect(neighbor(ends, 0, [200, 500])).toEqual([180, 600]);
    expect(neighbor(ends, 0, [1, 2])).toEqual([0, 60]);
    expect(neighbor(ends, 0, [9000, 9900])).toEqual([600, 660]);
    expect(neighbor([], 0, [1, 2])).toBeNull();
  });
});
