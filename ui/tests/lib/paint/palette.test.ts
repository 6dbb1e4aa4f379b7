import { afterEach, describe, expect, it } from "vitest";
import { readFileSync } from "node:fs";
import { CATEGORIES, colorsOf, shade } from "../../../src/lib/paint/palette";
import { svgPainter } from "../../../src/lib/paint/painter";
import { theme } from "../../../src/lib/page/theme.svelte";

/** Contrast as WCAG 2 defines it. */
function contrast(one: string, other: string): number {
  const [low, high] = [one, other].map(luminance).sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(color: string): number {
  const linear = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
}

const paper = /data-theme="dark"[^}]*--paper: (#\w+)/.exec(readFileSync("src/app/page.css", "utf8"))![1]!;

afterEach(() => {
  theme.dark = false;
});

describe("colors of lines", () => {
  it("have a contrast of 4.5 on the dark page", () => {
    theme.dark = true;
    const pale = CATEGORIES.filter((color) => contrast(shade(color), paper) < 4.5);
    expect(pale).toEqual([]);
  });

  it("are those of the palette on the light page", () => {
    expect(CATEGORIES.map(shade)).toEqual([...CATEGORIES]);
  });

  it("belong to a subject, whatever it is drawn with", () => {
    const names = ["LINUX01", "LINUX02", "LINUX03", "LINUX04"];
    const first = colorsOf("userid", names);
    expect(new Set(first.values()).size).toBe(4);
    const later = colorsOf("userid", ["TCPIP", "LINUX03", "MAINT", "LINUX02"]);
    expect(later.get("LINUX03")).toBe(first.get("LINUX03"));
    expect(later.get("LINUX02")).toBe(first.get("LINUX02"));
    expect(new Set(later.values()).size).toBe(4);
  });

  it("are shaded in drawings too", () => {
    theme.dark = true;
    const painter = svgPainter(10, 10, "line");
    painter.path(
      [
        [0, 0],
        [1, 1],
      ],
      { stroke: CATEGORIES[0] },
    );
    expect(painter.svg()).toContain(shade(CATEGORIES[0]));
    expect(painter.svg()).not.toContain(CATEGORIES[0]);
  });
});
