import { describe, expect, it } from "vitest";
import { figures } from "../../../src/lib/text/numbers";

describe("numbers of a column", () => {
  it("have the digits that zlens sql prints", () => {
    expect(figures([66.76, 1.5, null])).toEqual(["66.76", "1.50", "…"]);
    expect(figures([8.9578e-6, 0])).toEqual(["8.9578e-06", "0"]);
    expect(figures([31_314_807, 0])).toEqual(["31314807", "0"]);
    expect(figures([0.000123456, 0.5])).toEqual(["0.00012", "0.50000"]);
    expect(figures([])).toEqual([]);
  });
});
