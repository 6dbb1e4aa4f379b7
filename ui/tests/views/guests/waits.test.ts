import { describe, expect, it } from "vitest";
import { type State } from "../../../src/lib/api/subject";
import {
  legend,
  parts,
  sampled,
  shareOf,
  stretches,
  shareLines,
  waiting,
  waitsAt,
} from "../../../src/views/guests/waits";
import { answered } from "./answered";

describe("states", () => {
  const of = (key: string, columns: string[], waits = true): State => ({ key, name: key, columns, waits });
  const STATES = [
    of("running", ["running_pct"], false),
    of("cpu", ["cpu_wait_pct"]),
    of("page", ["page_wait_pct", "loading_pct"]),
    of("io", ["io_wait_pct"]),
    of("dormant", ["dormant_pct"], false),
  ];
  const shares = { running_pct: 40, cpu_wait_pct: 10, page_wait_pct: 5, loading_pct: 5, dormant_pct: 40 };

  it("add up to 100%", () => {
    expect(parts(STATES, shares).map((part) => [part.state.key, part.from, part.to])).toEqual([
      ["running", 0, 40],
      ["cpu", 40, 50],
      ["page", 50, 60],
      ["dormant", 60, 100],
    ]);
  });

  it("distinguish unsampled from zero", () => {
    const io = STATES.find((state) => state.key === "io")!;
    expect(shareOf(io, shares)).toBeNull();
    expect(sampled({ running_pct: null })).toBe(false);
    expect(sampled({ running_pct: 0 })).toBe(true);
    expect(shareLines({})).toEqual(["No samples"]);
    expect(shareLines(shares)).toContain("CPU wait: 10%");
  });

  it("have a total of wait states", () => {
    expect(waiting(STATES, shares)).toBe(20);
    expect(waiting(STATES, { running_pct: null })).toBeNull();
  });

  it("have one color each", () => {
    const many = Array.from({ length: 12 }, (_, at) => of(String(at), []));
    expect(new Set(legend(many.slice(0, 9)).map((one) => one.color)).size).toBe(9);
    expect(legend(many).every((one) => one.color)).toBe(true);
  });

  it("cover one interval or bucket each", () => {
    const answer = answered(
      ["system", "source", "t", "seconds_total", "running_pct_mean"],
      [
        ["S", "zvm-monitor", 60, 60, 40],
        ["S", "zvm-monitor", 180, 30, null],
      ],
    );
    expect(stretches(answer, ["running_pct"])).toEqual([
      { from: 0, t: 60, shares: { running_pct: 40 } },
      { from: 150, t: 180, shares: { running_pct: null } },
    ]);
    expect(stretches({ ...answer, bucket_s: 120 }, ["running_pct"])[1]!.from).toBe(60);
  });

  it("are found under the pointer", () => {
    const stretches = [{ from: 0, t: 60, shares }];
    expect(waitsAt(stretches, [0, 120], 0, 100, 400)?.lines[1]).toBe("Running: 40%");
    expect(waitsAt(stretches, [0, 120], 0, 380, 400)).toBeNull();
    expect(waitsAt(stretches, [0, 120], 0, 10, 400)).toBeNull();
  });
});
