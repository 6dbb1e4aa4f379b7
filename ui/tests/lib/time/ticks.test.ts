import { describe, expect, it } from "vitest";
import { timeTicks } from "../../../src/lib/time/ticks";

describe("ticks", () => {
  it("are round times in the system's zone", () => {
    const ticks = timeTicks(0, 3600, 19_800, 6);
    expect(ticks.every((t) => (t + 19_800) % 600 === 0)).toBe(true);
    expect(ticks.length).toBeGreaterThan(4);
  });

  it("are the first days of months over years", () => {
    const at = (text: string): number => Date.parse(`${text}T00:00:00Z`) / 1000;
    const days = (from: string, to: string, count: number): string[] =>
      timeTicks(at(from) - 3600, at(to) - 3600, 3600, count).map((t) =>
        new Date((t + 3600) * 1000).toISOString().slice(0, 10),
      );
    expect(days("2019-05-14", "2022-02-01", 6)).toEqual([
      "2019-07-01",
      "2020-01-01",
      "2020-07-01",
      "2021-01-01",
      "2021-07-01",
      "2022-01-01",
    ]);
    expect(days("2001-05-14", "2022-02-01", 6)).toEqual([
      "2005-01-01",
      "2010-01-01",
      "2015-01-01",
      "2020-01-01",
    ]);
  });

  it("end for times that no date can have", () => {
    expect(timeTicks(-9e18, 9e18, 0)).toEqual([]);
    expect(timeTicks(0, 9e18, 0)).toEqual([]);
  });
});
