import { describe, expect, it } from "vitest";
import { hexRows } from "../../src/app/hexRows";

describe("rows of a record in hexadecimal", () => {
  it("mark the bytes of fields, also across rows", () => {
    const hex = Array.from({ length: 20 }, (_, at) => at.toString(16).padStart(2, "0")).join("");
    expect(hexRows(hex, [{ offset: 14, length: 4 }])).toEqual([
      {
        offset: 0,
        runs: [
          { text: "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d", marked: false },
          { text: "0e 0f", marked: true },
        ],
      },
      {
        offset: 16,
        runs: [
          { text: "10 11", marked: true },
          { text: "12 13", marked: false },
        ],
      },
    ]);
  });

  it("mark nothing for a field without a place", () => {
    expect(hexRows("c1c2", [{ offset: null, length: 0 }])).toEqual([
      { offset: 0, runs: [{ text: "c1 c2", marked: false }] },
    ]);
    expect(hexRows("", [])).toEqual([]);
  });
});
