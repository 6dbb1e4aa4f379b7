import { describe, expect, it } from "vitest";
import { readdirSync, readFileSync } from "node:fs";

const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) =>
  /\.(ts|svelte)$/.test(name),
);

/** A source without its styles, comments, and names of style variables. */
const words = (source: string): string =>
  source
    .replace(/<style>[^]*?<\/style>/g, "")
    .replace(/\/\*[^]*?\*\//g, "")
    .replace(/<!--[^]*?-->/g, "")
    .replace(/^\s*\/\/.*$/gm, "")
    .replace(/var\(--[\w-]+\)/g, "");

describe("texts", () => {
  it.each(files)("of %s name no command-line option", (name) => {
    expect(words(readFileSync(`src/${name}`, "utf8")).match(/--[a-z][\w-]*/g) ?? []).toEqual([]);
  });

  // Two texts may be equal, and equal keys end the view.
  it.each(files)("of %s are no keys of lists", (name) => {
    const keys = readFileSync(`src/${name}`, "utf8").matchAll(/\{#each [^{}]*\(([\w.]+)\)\}/g);
    const texts = [...keys].map(([, key]) => key!).filter((key) => /(^|\.)(title|text|note|line)$/.test(key));
    expect(texts).toEqual([]);
  });

  it("of errors name no command-line option", () => {
    const texts = readFileSync("../python/zlens/facts/wording.toml", "utf8").match(/^page = .*$/gm)!;
    expect(texts.length).toBeGreaterThan(30);
    expect(texts.filter((text) => /--[a-z]/.test(text))).toEqual([]);
  });
});
