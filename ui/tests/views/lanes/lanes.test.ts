import { describe, expect, it } from "vitest";
import type { AggregateAnswer } from "../../../src/lib/api/types";
import {
  csvOf,
  GROUPS,
  inView,
  indexAt,
  lanesOf,
  moved,
  question,
  rowsOf,
  zoomed,
  type Range,
} from "../../../src/views/lanes/lanes";

const guests = GROUPS.find(({ id }) => id === "guests")!;
const span: Range = [0, 3600];

describe("the visible range", () => {
  it("zooms around a time, which keeps its position", () => {
    expect(zoomed([0, 3600], 0.5, 900, span, 60)).toEqual([450, 2250]);
    expect(zoomed([450, 2250], 2, 900, span, 60)).toEqual([0, 3600]);
  });

  it("stays within the recording, and at two intervals", () => {
    expect(zoomed([1800, 3600], 2, 3600, span, 60)).toEqual([0, 3600]);
    expect(zoomed([0, 100], 0.1, 50, span, 60)).toEqual([20, 80]);
    expect(moved([0, 600], -0.25, span)).toEqual([0, 600]);
    expect(moved([0, 600], 0.25, span)).toEqual([150, 750]);
    expect(moved([3200, 3600], 0.5, span)).toEqual([3200, 3600]);
  });
});

const answer = {
  columns: ["system", "source", "userid", "cpu_pct_mean", "cpu_pct_max"],
  rows: [
    ["S", "zvm", "LINUX1", 40, 80],
    ["S", "zvm", "LINUX2", 10, 20],
    ["S", "zvm", "IDLE", null, null],
  ],
  series_t: [60, 120, 180],
  series: [
    [40, 80, null],
    [10, null, 20],
    [null, null, null],
  ],
} as unknown as AggregateAnswer;

describe("lanes of a group", () => {
  it("are one per subject with values, on one scale", () => {
    const lanes = lanesOf(guests, answer, 180);
    expect(lanes.map(({ label, full, seconds }) => [label, full, seconds])).toEqual([
      ["LINUX1", 80, [60, 60, 60]],
      ["LINUX2", 80, [60, 60, 60]],
    ]);
    expect(question(guests, 240)).toMatchObject({ order: "cpu_pct_mean", descending: true });
    expect(question(GROUPS[0]!, 240).order).toBeUndefined();
  });

  it("join the parts of a subject that different sources recorded", () => {
    const parts = {
      ...answer,
      rows: [
        ["S", "rmf-xml", "LINUX1", 40, 80],
        ["S", "rmf3-xml", "LINUX1", 20, 20],
      ],
      series: [
        [40, 80, null],
        [null, null, 20],
      ],
    };
    expect(lanesOf(guests, parts, 180).map(({ label, value }) => [label, value])).toEqual([
      ["LINUX1", [40, 80, 20]],
    ]);
  });

  it("are exported as CSV with the events, without headings", () => {
    const event = { t: 90, kind: "logon", subject: "guest LINUX2", detail: null, inferred: null };
    const [lane] = lanesOf(guests, answer, 180);
    const rows = rowsOf([event], [{ group: guests, lanes: [lane!] }], new Set());
    expect(csvOf(rows, 3600).trim().split(/\r?\n/)).toEqual([
      "group,subject,time,time_utc_s,unit,value",
      "Logon,guest LINUX2,1970-01-01 01:01:30,90,,",
      "Guests,LINUX1,1970-01-01 01:01:00,60,%,40",
      "Guests,LINUX1,1970-01-01 01:02:00,120,%,80",
      "Guests,LINUX1,1970-01-01 01:03:00,180,%,",
    ]);
  });

  it("find the value that covers a time", () => {
    const [lane] = lanesOf(guests, answer, 180);
    expect([30, 60, 61, 200].map((t) => indexAt(lane!, t))).toEqual([0, 0, 1, -1]);
  });

  it("of one interval cover the range", () => {
    const one = { ...answer, series_t: [60], series: [[40], [10], [null]] };
    expect(lanesOf(guests, one, 60).map(({ seconds }) => seconds)).toEqual([[60], [60]]);
  });

  it("are as long as their intervals: a short one, usual ones, and one after a gap", () => {
    const times = [60, 65, 120, 180, 360];
    const uneven = { ...answer, series_t: times, series: times.map(() => [1, 1, 1, 1, 1]) };
    expect(lanesOf(guests, uneven, 360)[0]!.seconds).toEqual([60, 5, 55, 60, 60]);
  });
});

describe("rows", () => {
  const event = (kind: string, t: number) => ({ kind, t, subject: null, detail: null, inferred: null });

  it("are events by kind, then groups, whose headings hide them", () => {
    const groups = [{ group: guests, lanes: lanesOf(guests, answer, 180) }];
    const events = [event("logon", 1), event("logoff", 2), event("logon", 3)];
    const labels = (shut: string[]) => rowsOf(events, groups, new Set(shut)).map(({ label }) => label);
    expect(labels([])).toEqual([
      "Events (2)",
      "Logoff",
      "Logon",
      "Guests (2), full lane: 80%",
      "LINUX1",
      "LINUX2",
    ]);
    expect(labels(["guests"])).toEqual(["Events (2)", "Logoff", "Logon", "Guests (2), full lane: 80%"]);
    expect(rowsOf([], [{ group: guests, lanes: [] }], new Set())).toEqual([]);
  });

  it("are drawn only where they are in view", () => {
    expect(inView(0, 400, 20, 500)).toEqual([0, 20]);
    expect(inView(4010, 400, 20, 500)).toEqual([200, 221]);
    expect(inView(9900, 400, 20, 500)).toEqual([495, 500]);
    expect(inView(0, 400, 20, 3)).toEqual([0, 3]);
  });
});
