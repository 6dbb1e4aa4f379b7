/**
 * Tests of the layers of the web UI: a package imports only packages before it in ROOMS, and no view
 * imports another view. All imports count: imports of types, dynamic imports, and imports in templates.
 */

import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, it } from "vitest";

const SOURCES = "src";
/** From the lowest to the highest; docs/architecture.md describes each package. */
const ROOMS = ["lib/text", "lib/time", "lib/page", "lib/api", "lib/paint", "charts", "views", "app"];

const files = (readdirSync(SOURCES, { recursive: true }) as string[])
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => /\.(ts|svelte|css)$/.test(path))
  .sort();
const read = (path: string): string => readFileSync(`${SOURCES}/${path}`, "utf8");

const roomOf = (path: string): string => path.split("/", path.startsWith("lib/") ? 2 : 1).join("/");

/** Returns the paths that a file imports, relative to `src`; of a computed path, the constant start. */
function imported(path: string, text: string): string[] {
  const names = /\b(?:from|import|import\.meta\.glob)\s*\(?\s*(["'`])(\.[^"'`$*]*)/g;
  return [...text.matchAll(names)].map((match) => posix.join(posix.dirname(path), match[2]!));
}

/** Returns the imports that a file must not have. */
function refused(path: string, text: string): string[] {
  const room = roomOf(path);
  return imported(path, text).filter((target) => {
    const there = roomOf(target);
    if (!ROOMS.includes(there)) return true;
    if (room === "views" && there === "views") return path.split("/")[1] !== target.split("/")[1];
    return ROOMS.indexOf(there) > ROOMS.indexOf(room);
  });
}

/** Returns the first import cycle from a file; null if there is none. */
function circle(path: string, graph: Map<string, string[]>, way: string[] = []): string[] | null {
  if (way.includes(path)) return [...way.slice(way.indexOf(path)), path];
  for (const target of graph.get(path) ?? []) {
    const round = circle(target, graph, [...way, path]);
    if (round) return round;
  }
  graph.delete(path);
  return null;
}

describe("packages of the web UI", () => {
  it("contain every file", () => {
    expect(files.length).toBeGreaterThan(90);
    expect(files.filter((path) => !ROOMS.includes(roomOf(path)))).toEqual([]);
  });

  it("have a folder and a component for every view", () => {
    const views = new Set(
      files.filter((path) => roomOf(path) === "views").map((path) => path.split("/")[1]!),
    );
    const components = files.map((path) => path.toLowerCase());
    expect(views.size).toBeGreaterThan(10);
    expect([...views].filter((view) => !components.includes(`views/${view}/${view}.svelte`))).toEqual([]);
  });

  it.each(files)("%s imports only lower packages", (path) => expect(refused(path, read(path))).toEqual([]));

  it("have no import cycles", () => {
    const target = (name: string): string =>
      files.find((path) => path === name || path === `${name}.ts`) ?? name;
    const graph = new Map(files.map((path) => [path, imported(path, read(path)).map(target)]));
    expect(files.map((path) => circle(path, graph)).filter(Boolean)).toEqual([]);
  });

  it("are listed in docs/architecture.md", () => {
    const text = readFileSync("../docs/architecture.md", "utf8");
    for (const room of ROOMS) expect(text).toContain(`\`ui/src/${room}`);
  });
});

describe("import checks", () => {
  it.each([
    ["lib/api/api.ts", 'import { axis } from "../paint/axes";'],
    ["lib/api/api.ts", 'import type { Draw } from "../paint/painter";'],
    ["lib/paint/lines.ts", 'export { default } from "../../charts/Frame.svelte";'],
    ["lib/paint/lines.ts", 'const later = import("../../charts/Frame.svelte");'],
    ["lib/paint/lines.ts", 'type Late = import("../../charts/Frame.svelte").Props;'],
    ["charts/Frame.svelte", '{#await import("../views/io/Io.svelte")}{/await}'],
    ["charts/Frame.svelte", "import(`../views/${name}.svelte`)"],
    ["charts/Frame.svelte", 'import.meta.glob("../views/*/*.svelte")'],
    ["views/io/Io.svelte", 'import {\n  tree,\n} from "../machine/tree";'],
    ["views/io/Io.svelte", "import '../../app/page.css';"],
    ["views/io/Io.svelte", 'import x from "../../other";'],
  ])("%s: %s", (path, line) => expect(refused(path, line)).not.toEqual([]));

  it.each([
    ["app/App.svelte", 'import Io from "../views/io/Io.svelte";'],
    ["views/io/Io.svelte", 'import Devices from "./Devices.svelte";'],
    ["views/io/Io.svelte", 'import { onMount } from "svelte";'],
    ["lib/api/ask.svelte.ts", 'import { place } from "../page/place.svelte";'],
  ])("%s: %s is right", (path, line) => expect(refused(path, line)).toEqual([]));

  it("finds import cycles", () => {
    const graph = new Map([
      ["a", ["b"]],
      ["b", ["c", "a"]],
    ]);
    expect(circle("a", graph)).toEqual(["a", "b", "a"]);
  });
});
