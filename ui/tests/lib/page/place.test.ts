import { describe, expect, it } from "vitest";
import { parse, written } from "../../../src/lib/page/route.svelte";

describe("the address", () => {
  it("round-trips any settings", () => {
    const values = new Map([
      ["system", "ZL&SIM=1"],
      ["q", "SELECT '?#%' FROM load -- ü"],
      ["from", "1715671860"],
    ]);
    const found = parse(written("sql", values));
    expect(found.view).toBe("sql");
    expect(new Map([...found.values].sort())).toEqual(new Map([...values].sort()));
  });

  it("is equal for equal settings", () => {
    const one = written(
      "guests",
      new Map([
        ["b", "2"],
        ["a", "1"],
      ]),
    );
    expect(one).toBe(
      written(
        "guests",
        new Map([
          ["a", "1"],
          ["b", "2"],
        ]),
      ),
    );
    expect(one).toBe("#/guests?a=1&b=2");
  });

  it("may be empty or invalid", () => {
    expect(parse("")).toEqual({ view: "", values: new Map() });
    expect(parse("#/%zz?a").view).toBe("%zz");
  });
});
