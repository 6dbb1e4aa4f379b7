import { describe, expect, it } from "vitest";
import { matching } from "../../../src/views/guests/filter";

describe("names", () => {
  it("match by substring or pattern", () => {
    expect(["LNX01", "LNX02", "CMS"].filter(matching("lnx"))).toEqual(["LNX01", "LNX02"]);
    expect(["LNX01", "LNX02", "XLNX0"].filter(matching("LNX0?"))).toEqual(["LNX01", "LNX02"]);
    expect(["LNX01", "CMS"].filter(matching(" "))).toEqual(["LNX01", "CMS"]);
    expect(["A.B", "AXB"].filter(matching("A.B*"))).toEqual(["A.B"]);
    expect(["*MASTER*", "MASTER"].filter(matching("?MASTER?"))).toEqual(["*MASTER*"]);
  });
});
