import { describe, expect, it } from "vitest";
import { axis } from "../../../src/lib/paint/axes";

describe("axes", () => {
  it("end at round numbers and contain all values", () => {
    for (const [low, high] of [
      [0, 88.3],
      [-200, 560],
      [0, 0.0004],
      [3, 3],
      [0, 27_400],
    ] as const) {
      const found = axis(low, high);
      expect(found.low).toBeLessThanOrEqual(low);
      expect(found.high).toBeGreaterThanOrEqual(high);
      expect(found.ticks.length).toBeGreaterThan(1);
      expect(found.ticks.length).toBeLessThan(13);
    }
  });
});
