import { describe, expect, it } from "vitest";
import { timeTicks } from "../../../src/lib/time/ticks";

describe("ticks", () => {
  it("are round times in the system's zone", () => {
    const ticks = timeTicks(0, 3600, 19_800, 6);
    expect(ticks.every((t) => (t + 19_800) % 600 === 0)).toBe(true);
    expect(ticks.length).toBeGreaterThan(4);
  });
});
