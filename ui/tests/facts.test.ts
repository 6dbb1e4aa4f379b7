/** Tests that the web UI contains no knowledge of the catalog: no SQL, and no record names. */

import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const SOURCES = "src";
/** The console, which may contain SQL. */
const CONSOLE = /^views\/sql\//;
const SQL =
  /\bSELECT\s|\bFROM\s+[a-z_{$]|\b(GROUP|ORDER|PARTITION) BY\b|\bWHERE\s|\bIS (NOT )?NULL\b|\b(arg_max|quantile_cont|nullif|coalesce|epoch)\(|\bapi\.sql\(/;

/** Records of z/VM and of z/OS. */
const RECORD = /\bD\d+R\d+\b|\bSMF \d/;

const files = (readdirSync(SOURCES, { recursive: true }) as string[]).filter(
  (name) => /\.(ts|svelte)$/.test(name) && !CONSOLE.test(name),
);

it.each(files)("%s has no SQL", (name) => {
  const text = readFileSync(`${SOURCES}/${name}`, "utf8");
  expect(text.split("\n").filter((line) => SQL.test(line))).toEqual([]);
});

it.each(files)("%s names no record", (name) => {
  const text = readFileSync(`${SOURCES}/${name}`, "utf8");
  expect(text.split("\n").filter((line) => RECORD.test(line))).toEqual([]);
});

it("files are found, and SQL is recognized", () => {
  expect(files.length).toBeGreaterThan(80);
  for (const line of ["api.sql(`SELECT a", "sum(x) FILTER (WHERE y IS NULL)", "GROUP BY ALL", "FROM {guest}"])
    expect(SQL.test(line)).toBe(true);
  for (const line of ["z/VM's D0R16", "SMF 70 subtype 1"]) expect(RECORD.test(line)).toBe(true);
});
