import { describe, expect, it } from "vitest";
import { bare, bucket, bucketEnd, found } from "../src/lib/window";

describe("a bucket", () => {
  it("is one interval where all fit", () => {
    expect(bucket([0, 3600], 60, 300)).toBe(60);
    expect(bucketEnd(60, 60)).toBe("epoch(interval_end)");
  });

  it("is a whole number of intervals where they do not", () => {
    expect(bucket([0, 86400], 60, 300)).toBe(300);
    expect(bucket([0, 86400], 900, 60)).toBe(1800);
    expect(bucketEnd(300, 60)).toContain("* 300");
  });

  it("is not more than the points asked for", () => {
    for (const span of [61, 3601, 86399, 604800])
      expect(Math.ceil(span / bucket([0, span], 60, 100) - 0.01)).toBeLessThanOrEqual(100);
  });
});

describe("a question", () => {
  it("is copied without what only the page understands", () => {
    expect(bare("SELECT 1 FROM {device} JOIN {cpu} USING (system)")).toBe(
      "SELECT 1 FROM device JOIN cpu USING (system)",
    );
  });

  it("gives its columns by name, and numbers only as numbers", () => {
    const answer = {
      columns: ["a", "b"],
      types: ["int" as const, "text" as const],
      rows: [
        [1, "x"],
        [null, "y"],
      ],
      more: false,
      seconds: 0,
    };
    const one = found(answer, "SELECT");
    expect(one.numbers("a")).toEqual([1, null]);
    expect(one.column("b")).toEqual(["x", "y"]);
    expect(one.numbers("b")).toEqual([null, null]);
    expect(one.column("c")).toEqual([null, null]);
  });
});
