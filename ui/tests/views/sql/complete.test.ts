import { describe, expect, it } from "vitest";
import type { TableInfo } from "../../../src/lib/api/types";
import { completions, wordBefore } from "../../../src/views/sql/complete";

const table = (name: string, kind: TableInfo["kind"], ...columns: string[]): TableInfo => ({
  name,
  kind,
  text: `rows of ${name}`,
  key: [],
  fills: true,
  columns: columns.map((column) => ({
    name: column,
    type: "float",
    unit: "%",
    text: null,
    status: null,
    aggregate: null,
    formula: null,
    scope: null,
  })),
});
const schema = {
  tables: [
    table("load", "measure", "system", "busy_pct"),
    table("guest", "measure", "system", "userid"),
    table("role.storage", "role", "frames"),
    table("d0r2", "raw", "Strange name"),
  ],
};
const at = (text: string) => {
  const place = text.indexOf("|");
  const found = completions(text.replace("|", ""), place, schema);
  return { from: found.from, labels: found.options.map(({ label }) => label), options: found.options };
};

describe("completion", () => {
  it("offers all tables and the columns of queried ones", () => {
    expect(at("SELECT b| FROM load").labels).toEqual([
      "system",
      "busy_pct",
      "load",
      "guest",
      "role.storage",
      "d0r2",
    ]);
    expect(at("SELECT x FROM l|").from).toBe(14);
  });

  it("offers a column of two tables once", () => {
    const { labels } = at("SELECT s| FROM load JOIN guest USING (system)");
    expect(labels.filter((label) => label === "system")).toHaveLength(1);
  });

  it("offers the columns of a table or its alias after a dot", () => {
    expect(at("SELECT load.b| FROM load").labels).toEqual(["system", "busy_pct"]);
    expect(at("SELECT g.| FROM load l JOIN guest AS g ON l.system = g.system").labels).toEqual([
      "system",
      "userid",
    ]);
    expect(at("SELECT g.u| FROM guest g").from).toBe(9);
    expect(at("SELECT * FROM role.|").labels).toEqual(["storage"]);
    expect(at("SELECT nothing.|").labels).toEqual([]);
  });

  it("quotes invalid identifiers", () => {
    const strange = at("SELECT d0r2.| FROM d0r2").options[0]!;
    expect([strange.label, strange.apply]).toEqual(["Strange name", '"Strange name"']);
  });

  it("starts at the word before the cursor", () => {
    expect(wordBefore("SELECT g.us")).toBe("g.us");
    expect(wordBefore("SELECT ")).toBe("");
  });
});
