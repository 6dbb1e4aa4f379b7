import { describe, expect, it } from "vitest";
import { printed } from "../../../src/lib/api/tables";

describe("cells of a column", () => {
  it("print times in the zone of the row's system", () => {
    const texts = printed(
      { key: "t", heading: "t", type: "time" },
      ["a", null, "b"],
      (iso, row) => `${iso}${row}`,
    );
    expect(texts).toEqual(["a0", "–", "b2"]);
  });

  it("have four digits or the requested ones", () => {
    const column = { key: "a", heading: "a", type: "float" as const };
    expect(printed(column, [12.345678], String)).toEqual(["12.35"]);
    expect(printed({ ...column, exact: true }, [12.345678], String)).toEqual(["12.3457"]);
  });
});
