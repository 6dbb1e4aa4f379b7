import { describe, expect, it } from "vitest";
import {
  bridged,
  BUCKETS,
  columnsOf,
  resample,
  figureOf,
  question,
  rowsOf,
  step,
  textOf,
} from "../../../src/views/guests/subjects";
import { present, type Figure, type ConsumerKind } from "../../../src/lib/api/subject";
import { answered } from "./answered";

describe("resampled values", () => {
  it("puts times into parts of the window", () => {
    const values = resample([60, 3600, 3599, 30], [1.5, 2, 7, null], [0, 3600]);
    expect(values).toHaveLength(BUCKETS);
    expect([values[0], values[1], values[59]]).toEqual([1.5, null, 7]);
    expect(resample([], [], [0, 60]).every((one) => one === null)).toBe(true);
  });

  it("span buckets between two intervals but not gaps", () => {
    expect(bridged([1, null, 3, null, null, null, 4], 2)).toEqual([1, 2, 3, null, null, null, 4]);
  });

  it("determine the interval length", () => {
    const at = (...places: number[]) => Array.from({ length: 60 }, (_, n) => (places.includes(n) ? 1 : null));
    expect(step([at(14, 29, 44, 59), at(14)])).toBe(24);
    expect(step([at(1, 2, 3, 9)])).toBe(2);
    expect(step([])).toBe(1);
  });
});

describe("requests", () => {
  const figure = (facts: Partial<Figure>): Figure => ({
    key: "",
    heading: "",
    type: "float",
    unit: "",
    text: "",
    explain: "",
    column: "",
    statistic: "mean",
    pieces: [],
    scale: 1,
    ...facts,
  });
  const share = figure({
    key: "share",
    pieces: ["{share_kind}", " {share}", ", {limit_kind} limit {share_limit}"],
  });
  const subject = {
    table: "guest",
    sources: ["zvm-monitor"],
    name: [{ column: "userid", heading: "Guest" }],
    use_column: "cpu_s",
    series: { column: "cpu_pct", heading: "", statistic: "max" },
    figure: [
      figure({ key: "cpu_pct_mean", column: "cpu_pct" }),
      figure({ key: "cpu_pct_max", column: "cpu_pct", statistic: "max" }),
      figure({ key: "cpu_s_total", column: "cpu_s", statistic: "total" }),
      share,
    ],
    states: { state: [{ key: "io", name: "", columns: ["io_wait_pct"], waits: true }] },
  } as unknown as ConsumerKind;

  it("fetch everything at once", () => {
    const asked = question(subject, { basis: "sample" });
    expect(asked.columns).toEqual({
      cpu_s: ["total"],
      cpu_pct: ["mean", "max"],
      share_kind: ["last"],
      share: ["last"],
      limit_kind: ["last"],
      share_limit: ["last"],
      io_wait_pct: ["mean"],
    });
    expect(asked.series).toEqual({ column: "cpu_pct", statistic: "max", buckets: BUCKETS });
    expect([asked.by, asked.where]).toEqual([["userid"], { basis: "sample" }]);
  });

  it("return values by name; texts omit unknown ones", () => {
    const columns = ["cpu_pct_mean", "share_kind_last", "share_last", "limit_kind_last", "share_limit_last"];
    const [first, second, third] = rowsOf(
      answered(columns, [
        [1.5, "relative", 100, null, null],
        [null, "absolute", 1 / 3, "soft", 50],
        [null, null, null, null, null],
      ]),
    );
    expect(figureOf(subject.figure[0]!, first!)).toBe(1.5);
    expect(figureOf(subject.figure[1]!, first!)).toBeNull();
    expect(figureOf(share, first!)).toBe("relative 100");
    expect(figureOf(share, second!)).toBe("absolute 0.333333, soft limit 50");
    expect(figureOf(share, third!)).toBeNull();
    expect(columnsOf(share.pieces)).toEqual(["share_kind", "share", "limit_kind", "share_limit"]);
    expect(textOf(["vCPU {vcpu}"], () => 0)).toBe("vCPU 0");
  });

  it("show the data of a system", () => {
    const job = { ...subject, table: "job", sources: ["smf", "rmf-xml"] };
    const tables = (sources: string[], fills: (name: string) => boolean) =>
      present(
        [subject, job],
        sources.map((source) => ({ source })),
        fills,
      ).map((one) => one.table);
    expect(tables(["zvm-monitor"], () => true)).toEqual(["guest"]);
    expect(tables(["smf", "rmf-xml"], () => true)).toEqual(["job"]);
    expect(tables(["smf"], (name) => name !== "job")).toEqual([]);
    expect(tables(["linux"], () => true)).toEqual([]);
  });
});
