import { describe, expect, it } from "vitest";
import type { FleetSystem } from "../../../src/lib/api/types";
import { busiestLines, groupsOf, named, spanOf, stacks } from "../../../src/views/fleet/fleet";

const system = (name: string, more: Partial<FleetSystem> = {}): FleetSystem => ({
  system: name,
  source: "zvm-monitor",
  machine: null,
  sysplex: null,
  cluster: null,
  release: "7.4",
  mean: 50,
  busiest: 80,
  at: null,
  before: null,
  change: null,
  growth: null,
  meets: null,
  series: [],
  ...more,
});

describe("groups", () => {
  const systems = [
    system("C", { cluster: "PROD" }),
    system("B"),
    system("A", { cluster: "PROD" }),
    system("D", { cluster: "DEV" }),
  ];

  it("are sorted by name, systems without group last", () => {
    const groups = groupsOf(systems, "cluster");
    expect(groups.map((group) => group.name)).toEqual(["DEV", "PROD", null]);
    expect(groups.map((group) => group.systems.map((one) => one.system))).toEqual([["D"], ["C", "A"], ["B"]]);
  });

  it("are one without a key and none without systems", () => {
    expect(groupsOf(systems, null)).toEqual([{ name: null, systems }]);
    expect(groupsOf([], null)).toEqual([]);
    expect(groupsOf([], "machine")).toEqual([]);
  });
});

describe("search", () => {
  it("requires every word, ignoring case and order", () => {
    const one = system("ZVM1", { machine: "8561-D3E01", cluster: "PROD" });
    for (const words of ["", "zvm", "prod 8561", "  7.4 ZVM1 "]) expect(named(one, words)).toBe(true);
    expect(named(one, "prod zvm2")).toBe(false);
  });
});

describe("time ranges", () => {
  it("end with the last hour, after a previous range of equal length", () => {
    expect(spanOf("", 1e6)).toEqual({});
    const end = 500 * 3600;
    const expected = {
      from: end - 168 * 3600,
      to: end,
      base_from: end - 336 * 3600,
      base_to: end - 168 * 3600,
    };
    expect(spanOf("7", end)).toEqual(expected);
    expect(spanOf("7", end - 3599)).toEqual(expected);
  });
});

describe("partitions of a machine", () => {
  const partition = (name: string, mean: number, cpu_type = "IFL") => ({
    partition: name,
    cpu_type,
    mean,
    series: [mean, null],
  });

  it("are stacked by type, largest first", () => {
    const partitions = [partition("A", 1), partition("B", 3), partition("C", 2, "CP")];
    const found = stacks({ unit: "%", explain: "", t: [3600, 7200], partitions });
    expect(found.map(({ type }) => type)).toEqual(["CP", "IFL"]);
    expect(found[1]!.course.layers.map(({ name }) => name)).toEqual(["B", "A"]);
    expect(found[1]!.course.seconds).toEqual([3600, 3600]);
  });

  it("are combined if there are many", () => {
    const partitions = Array.from({ length: 20 }, (_, at) => partition(`P${at}`, at));
    const { course } = stacks({ unit: "%", explain: "", t: [3600, 7200], partitions })[0]!;
    expect(course.layers.length).toBe(10);
    expect(course.layers.at(-1)!.name).toBe("11 other partitions");
    // The sum of 0 to 10, and an hour without values.
    expect(course.layers.at(-1)!.value).toEqual([55, null]);
  });
});

describe("systems over time", () => {
  it("are lines with their known hours, busiest first", () => {
    const systems = [
      system("OLD", { mean: 10, series: [10, null] }),
      system("NEW", { mean: 60, series: [null, 60] }),
      system("NONE", { mean: null, series: [null, null] }),
    ];
    const years = [1_268_000_000, 1_715_000_000];
    expect(busiestLines(systems, years).map(({ name, t, value }) => [name, t, value])).toEqual([
      ["NEW", [1_715_000_000], [60]],
      ["OLD", [1_268_000_000], [10]],
    ]);
  });
});
