import { afterEach, describe, expect, it } from "vitest";
import { readFileSync } from "node:fs";
import { CATEGORIES, colorsOf, heat, onHeat, shade } from "../../../src/lib/paint/palette";
import { svgPainter } from "../../../src/lib/paint/painter";
import { theme } from "../../../src/lib/page/theme.svelte";

/** Contrast as defined in WCAG 2. */
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

/** The colors of a theme by name in the style sheet. */
function tokens(selector: RegExp): Map<string, string> {
  const block = new RegExp(selector.source + "[^}]*").exec(readFileSync("src/app/page.css", "utf8"))![0];
  return new Map([...block.matchAll(/--([\w-]+): (#\w{6})/g)].map((match) => [match[1]!, match[2]!]));
}

const THEMES = {
  light: tokens(/:root \{/),
  dark: tokens(/:root\[data-theme="dark"\] \{/),
};
const LEAST = 4.5;
const TEXT = ["ink", "faint", "accent", "crit", "warn", "info", "string", "number"];
const GROUNDS = ["paper", "ground", "hover"];

afterEach(() => {
  theme.dark = false;
});

describe("colors of lines", () => {
  it.each(["light", "dark"] as const)("have a contrast of 4.5 in %s mode", (name) => {
    theme.dark = name === "dark";
    const pale = CATEGORIES.filter((color) => contrast(shade(color), THEMES[name].get("paper")!) < LEAST);
    expect(pale).toEqual([]);
    expect(new Set(CATEGORIES.map(shade)).size).toBe(CATEGORIES.length);
  });

  it.each(["light", "dark"] as const)("text has a contrast of 4.5 in %s mode", (name) => {
    const color = (token: string): string => THEMES[name].get(token)!;
    const pairs = [
      ...TEXT.flatMap((text) => GROUNDS.map((ground) => [text, ground] as const)),
      ...["crit", "warn", "info"].map((text) => [text, `${text}-ground`] as const),
      ["on-accent", "accent"] as const,
    ];
    const pale = pairs.filter(([text, ground]) => contrast(color(text), color(ground)) < LEAST);
    expect(pale).toEqual([]);
  });

  it("text has a contrast of 4.5 on heat map colors", () => {
    const hex = (color: string): string =>
      `#${color
        .match(/\d+/g)!
        .map((part) => Number(part).toString(16).padStart(2, "0"))
        .join("")}`;
    const shares = Array.from({ length: 201 }, (_, at) => at / 200);
    expect(shares.filter((share) => contrast(onHeat(share), hex(heat(share))) < LEAST)).toEqual([]);
  });

  it("belong to a subject in every chart", () => {
    const names = ["LINUX01", "LINUX02", "LINUX03", "LINUX04"];
    const first = colorsOf("userid", names);
    expect(new Set(first.values()).size).toBe(4);
    const later = colorsOf("userid", ["TCPIP", "LINUX03", "MAINT", "LINUX02"]);
    expect(later.get("LINUX03")).toBe(first.get("LINUX03"));
    expect(later.get("LINUX02")).toBe(first.get("LINUX02"));
    expect(new Set(later.values()).size).toBe(4);
  });

  it("do not repeat among eight subjects, whichever charts showed them first", () => {
    for (const name of ["A1", "I1", "Q1", "Y1"]) colorsOf("pair", [name]);
    const all = ["A1", "I1", "Q1", "Y1", "B1", "J1", "R1", "Z1"];
    expect(new Set(colorsOf("pair", all).values()).size).toBe(8);
  });

  it("are shaded in drawings", () => {
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
