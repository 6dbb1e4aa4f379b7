import { describe, expect, it } from "vitest";
import { axis, lineAxis, timeLabels } from "../../../src/lib/paint/axes";
import { svgPainter } from "../../../src/lib/paint/painter";
import { theme } from "../../theme";

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

describe("the axis of lines", () => {
  const ends = (low: number, high: number, end: number | null = null): number[] => {
    const found = lineAxis([low, high], end);
    return [found.low, found.high];
  };

  it("fits values far from 0, and starts at 0 where they are near it or equal", () => {
    expect(ends(92.2, 97.9)).toEqual([92, 98]);
    expect(ends(4.616, 4.799)).toEqual([4.6, 4.8]);
    expect(ends(5, 100)).toEqual([0, 100]);
    expect(ends(3, 3)).toEqual([0, 3]);
    expect(ends(-20, 10)).toEqual([-20, 10]);
  });

  it("contains 0 and its end if extended", () => {
    expect(ends(92.2, 97.9, 100)).toEqual([0, 100]);
    expect(ends(92.2, 97.9, 0)).toEqual([0, 100]);
  });
});

describe("labels of times", () => {
  const labels = (ticks: number[], window: [number, number], width: number): string[] => {
    const painter = svgPainter(width, 40, "x");
    const x = (t: number): number => ((t - window[0]) / (window[1] - window[0])) * width;
    timeLabels(painter, theme, ticks, { window, offset: 0, x }, [[0, width], 20]);
    return [...painter.svg().matchAll(/>([^<]+)<\/text>/g)].map((match) => match[1]!);
  };

  it("neither touch nor repeat", () => {
    // Half minutes of an hour would have the same labels.
    expect(labels([0, 30, 60, 90], [0, 3600], 40_000)).toEqual(["01-01", "00:00", "00:01"]);
    expect(labels([60, 120, 180], [0, 3600], 400)).toEqual(["00:01"]);
  });
});
