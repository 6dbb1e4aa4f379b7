import { expect, it } from "vitest";
import { readdirSync, readFileSync } from "node:fs";

it("one component draws timelines", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".svelte"),
  );
  const having = (words: string): string[] =>
    files.filter((name) => readFileSync(`src/${name}`, "utf8").includes(words)).sort();
  expect(having("stripAxis(")).toEqual(["charts/TimelineStrip.svelte"]);
  expect(having("<TimelineStrip")).toEqual([
    "app/Timeline.svelte",
    "views/compare/WindowPicker.svelte",
    "views/lab/IntervalPicker.svelte",
  ]);
});
