import { describe, expect, it } from "vitest";
import { svgPainter } from "../../../src/lib/paint/painter";
import {
  barHeight,
  drawBars,
  drawStackedSeries,
  height,
  highest,
  piled,
  remainder,
  steps,
} from "../../../src/lib/paint/stack";
import { theme } from "../../theme";

describe("stacks", () => {
  it("add up layer by layer", () => {
    expect(piled([1, 2, 3])).toEqual([
      [0, 1],
      [1, 3],
      [3, 6],
    ]);
  });

  it("skip unknown layers, and are unknown if all are", () => {
    expect(piled([1, null, 3])).toEqual([[0, 1], null, [1, 4]]);
    expect(height([1, null, 3])).toBe(4);
    expect(height([null, null])).toBeNull();
  });

  it("reach the largest total", () => {
    const layer = (value: (number | null)[]) => ({ name: "a", color: "#000", value });
    expect(highest([layer([1, 5, null]), layer([2, null, 4])])).toBe(5);
    expect(highest([])).toBe(0);
  });
});

describe("a limit", () => {
  it("steps at interval ends, and breaks at gaps and unknown values", () => {
    expect(steps([60, 120, 180, 360, 420], [60, 60, 60, 60, 60], [4, 3, 4, 4, null])).toEqual([
      [
        [0, 4],
        [60, 4],
        [60, 3],
        [120, 3],
        [120, 4],
        [180, 4],
      ],
      [
        [300, 4],
        [360, 4],
      ],
    ]);
  });

  it("is above the stacks, and read with them", () => {
    const course = {
      t: [60],
      seconds: [60],
      layers: [{ name: "one", color: "#111111", value: [1], look: "hatched" as const }],
      unit: null,
      limit: { name: "Capacity", value: [4] },
    };
    const painter = svgPainter(400, 200, "x");
    const [region] = drawStackedSeries(painter, 400, 200, theme, course, { window: [0, 60], offset: 0 });
    expect(painter.svg()).toContain(">4</text>");
    expect(region!.lines.slice(1)).toEqual(["Capacity: 4", "one: 1"]);
  });

  it("leaves what the parts of a sum do not use", () => {
    const layer = (value: (number | null)[]) => ({ name: "a", color: "#000", value });
    expect(remainder([5, null, 3], [layer([1, 1, null]), layer([2, 1, 1])])).toEqual([2, null, 2]);
  });

  it("is not covered by labels of marks, which are above the stacks", () => {
    const full = {
      t: [60],
      seconds: [60],
      layers: [{ name: "a", color: "#111111", value: [4] }],
      unit: null,
    };
    const around = { window: [0, 60] as [number, number], offset: 0 };
    const marks = [{ t: 10, label: "logon", color: "faint" }];
    const top = (shown: typeof marks): number =>
      drawStackedSeries(svgPainter(400, 200, "x"), 400, 200, theme, full, { ...around, marks: shown })[0]!.y;
    expect([top([]), top(marks)]).toEqual([8, 16]);
  });
});

describe("a series", () => {
  const course = {
    t: [60, 120, 180],
    seconds: [60, 60, 60],
    layers: [
      { name: "one", color: "#111111", value: [1, null, 3] },
      { name: "two", color: "#222222", value: [2, null, null] },
    ],
    unit: "ms",
  };

  it("draws known parts, hatches unknown ones and lists values", () => {
    const painter = svgPainter(400, 200, "x");
    const regions = drawStackedSeries(painter, 400, 200, theme, course, { window: [0, 180], offset: 0 });
    expect(painter.svg().match(/fill="#111111"/g)).toHaveLength(2);
    expect(painter.svg().match(/fill="#222222"/g)).toHaveLength(1);
    expect(regions).toHaveLength(3);
    expect(regions[0]!.lines).toEqual([
      "1970-01-01 00:00:00 to 00:01:00",
      "one: 1\u00a0ms",
      "two: 2\u00a0ms",
    ]);
    expect(regions[1]!.lines.slice(1)).toEqual(["one: not available", "two: not available"]);
  });

  it("is as wide as its intervals", () => {
    const two = { ...course, t: [60, 180], seconds: [60, 120] };
    const around = { window: [0, 180] as [number, number], offset: 0 };
    const [one, other] = drawStackedSeries(svgPainter(400, 200, "x"), 400, 200, theme, two, around);
    expect(other!.width).toBeCloseTo(2 * one!.width, -1);
    expect(other!.x).toBeCloseTo(one!.x + one!.width, -1);
    expect(other!.lines[0]).toBe("1970-01-01 00:01:00 to 00:03:00");
  });

  it("omits intervals outside the window", () => {
    const painter = svgPainter(400, 200, "x");
    const window: [number, number] = [100, 180];
    expect(drawStackedSeries(painter, 400, 200, theme, course, { window, offset: 0 })).toHaveLength(2);
  });
});

describe("bars", () => {
  it("are thinner if they are more than 20", () => {
    expect(barHeight(20)).toBe(20);
    const bars = Array.from({ length: 64 }, (_, at) => ({ label: `CPU ${at}`, values: [1] }));
    const regions = drawBars(
      svgPainter(300, 916, "x"),
      300,
      theme,
      bars,
      [{ name: "a", color: "#111" }],
      "%",
    );
    expect(regions.at(-1)!.y + regions.at(-1)!.height).toBe(64 * 14);
  });

  it("have a region that opens their subject", () => {
    let opened = "";
    const bars = ["a", "b"].map((label) => ({ label, values: [1, 2], open: () => (opened = label) }));
    const layers = [
      { name: "one", color: "#111111" },
      { name: "two", color: "#222222" },
    ];
    const regions = drawBars(svgPainter(300, 60, "x"), 300, theme, bars, layers, "%");
    regions[1]!.open!();
    expect(opened).toBe("b");
    expect(regions[0]!.lines).toEqual(["a", "one: 1%", "two: 2%"]);
    expect(regions[1]!.y).toBe(regions[0]!.height);
  });
});
