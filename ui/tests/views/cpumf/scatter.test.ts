import { describe, expect, it } from "vitest";
import { drawScatter, withoutRni } from "../../../src/views/cpumf/scatter";
import type { Hints } from "../../../src/lib/api/types";
import { svgPainter } from "../../../src/lib/paint/painter";
import { theme } from "../../theme";

const hints: Hints = {
  status: "verified-secondary",
  source: "",
  note: "",
  generations: ["z13", "z15"],
  regions: [
    { category: "LOW", l1mp: [null, 3], rni: [null, 0.75] },
    { category: "HIGH", l1mp: [3, null], rni: [1, null] },
  ],
};

describe("the nest chart", () => {
  it("shows open regions and points with links", () => {
    const painter = svgPainter(400, 300, "x");
    let opened = false;
    const points = [{ l1mp: 4, rni: 0.5, color: "#123456", lines: ["CPU 1"], open: () => (opened = true) }];
    const regions = drawScatter(painter, 400, 300, theme, points, hints.regions);
    expect(painter.svg()).toContain(">LOW<");
    expect(painter.svg()).toContain(">HIGH<");
    expect(regions[0]!.lines).toEqual(["CPU 1", "L1MP: 4%", "RNI: 0.5"]);
    regions[0]!.open!();
    expect(opened).toBe(true);
  });

  it("labels points whose colors repeat, unless labels would touch", () => {
    const painter = svgPainter(400, 300, "x");
    const point = (label: string, l1mp: number) => ({ l1mp, rni: 0.5, color: "#123456", lines: [], label });
    drawScatter(painter, 400, 300, theme, [point("17", 1), point("25", 3), point("26", 3.001)], []);
    expect([..."17 25 26".split(" ")].map((label) => painter.svg().includes(`>${label}</text>`))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("draws only axes without points and regions", () => {
    const painter = svgPainter(400, 300, "x");
    expect(drawScatter(painter, 400, 300, theme, [], [])).toEqual([]);
    expect(painter.svg()).not.toContain("NaN");
  });
});

describe("missing RNI", () => {
  const values = { l1mp: 4, rni: null, status: "unverified", generation: "z15", by: "machine type" };

  it("names the missing inputs", () => {
    expect(withoutRni({ ...values, rni: 0.5 }, hints)).toBeNull();
    expect(withoutRni(values, hints)).toContain("z15");
    expect(withoutRni(values, hints)).not.toContain("table of hints");
    expect(withoutRni({ ...values, generation: "z17" }, hints)).toContain("table of hints");
    expect(withoutRni({ ...values, l1mp: null }, hints)).toContain("L1 counters");
    expect(withoutRni({ ...values, generation: null, by: "no type" }, hints)).toContain("no type");
    expect(withoutRni({ ...values, status: "verified" }, hints)).toContain("extended");
  });
});
