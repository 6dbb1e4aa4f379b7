import { describe, expect, it } from "vitest";
import { found, type Entry } from "../../src/app/search";
import { splitByTerms } from "../../src/lib/text/terms";

const entry = (kind: string, name: string, text = ""): Entry => ({ kind, name, text, open: () => undefined });
const all = [
  entry("report", "guestlinux", "of LINUX01"),
  entry("guest", "LINUX010"),
  entry("guest", "LINUX01"),
  entry("device", "D010", "PAGE01"),
];

describe("the search", () => {
  it("puts exact names first", () => {
    expect(found(all, "linux01").map((one) => one.name)).toEqual(["LINUX01", "LINUX010", "guestlinux"]);
  });

  it("requires all words, of kind or text", () => {
    expect(found(all, "device page01").map((one) => one.name)).toEqual(["D010"]);
    expect(found(all, "device linux")).toEqual([]);
    expect(found(all, "  ")).toEqual([]);
  });
});

describe("terms in a text", () => {
  it("are matched as whole words", () => {
    const terms = [{ name: "T/V" }, { name: "Vh" }, { name: "prorated" }];
    const words = (text: string) =>
      splitByTerms(text, terms)
        .filter((piece) => piece.term)
        .map((piece) => piece.term!.name);
    expect(words("T/V of Vh, prorated time")).toEqual(["T/V", "Vh", "prorated"]);
    expect(words("Vhx and unprorated")).toEqual([]);
    expect(
      splitByTerms("Prorated time", terms)
        .map((piece) => piece.text)
        .join(""),
    ).toBe("Prorated time");
  });
});
