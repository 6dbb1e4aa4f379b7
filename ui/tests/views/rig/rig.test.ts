import { describe, expect, it } from "vitest";

import type { RigObservation, RigPolicy, RigRun, RigScenario } from "../../../src/lib/api/types";
import { courses, MOST_SUBJECTS, verdict, word } from "../../../src/views/rig/rig";

const observation = (of: Partial<RigObservation> = {}): RigObservation => ({
  name: "CPU",
  unit: "%",
  allowed: "1%",
  of: "sum",
  relative: false,
  over_time: "",
  worst: 0,
  rms: 0,
  misallocated: 0,
  passed: true,
  numbers: [],
  ...of,
});
const policy = (of: Partial<RigPolicy> = {}): RigPolicy => ({
  name: "P",
  control: false,
  judged: true,
  passed: true,
  errors: [],
  observations: [],
  runs: [],
  ...of,
});
const run: RigRun = { name: "2-p-1", case: "2", seed: 1, error: null, opens: true };
const number = (subject: string, expected: number | null, low: number | null = null) => ({
  case: "2",
  subject,
  expected,
  low,
  high: null,
  observed: null,
  half: null,
  passed: null,
});

describe("verdicts", () => {
  it("distinguish controls from policies", () => {
    expect(word(policy(), observation())).toBe("pass");
    expect(word(policy(), observation({ passed: false }))).toBe("fail");
    expect(word(policy({ judged: false }), observation())).toBe("not judged");
    expect(word(policy({ control: true }), observation({ passed: false }))).toBe("fails, as it must");
    expect(word(policy({ control: true, passed: false }), observation())).toBe("passed, expected to fail");
    expect(word(policy({ errors: ["no data"] }), observation())).toBe("error");
  });

  it("of a scenario show interrupts and errors before failures", () => {
    const scenario = { complete: true, passed: false, policies: [policy()] } as unknown as RigScenario;
    expect(verdict(scenario)).toBe("not as expected");
    expect(verdict({ ...scenario, passed: true })).toBe("as expected");
    expect(verdict({ ...scenario, complete: false })).toBe("interrupted");
    expect(verdict({ ...scenario, policies: [policy({ errors: ["no data"] })] })).toBe("error");
  });
});

describe("series", () => {
  const rows = [
    ["2026-03-02T08:01:00Z", "A", 10],
    ["2026-03-02T08:01:00Z", "B ", 20],
    ["2026-03-02T08:02:00Z", "A", null],
    ["2026-03-02T08:02:00Z", "B ", 22],
  ];

  it("have a chart per subject with expected and observed values", () => {
    const charts = courses(observation({ numbers: [number("A", 12), number("B", null, 19)] }), run, rows);
    expect(charts.map(({ title }) => title)).toEqual(["CPU of A", "CPU of B"]);
    expect(charts[0]!.places).toEqual([0, 1]);
    expect(charts[0]!.series).toEqual([
      { name: "Expected", values: [12, 12] },
      { name: "Observed", values: [10, null] },
    ]);
    expect(charts[1]!.series.map(({ name }) => name)).toEqual(["Minimum allowed", "Observed"]);
  });

  it("omit subjects without an expected number", () => {
    expect(courses(observation({ numbers: [number("A", 12)] }), run, rows)).toHaveLength(1);
    const ratio = courses(observation({ relative: true, numbers: [number("A", 1.3)] }), run, rows);
    expect(ratio.map(({ series }) => series.length)).toEqual([1, 1]);
    expect(ratio[0]!.unit).toBe("");
  });

  it("are limited", () => {
    const many = Array.from({ length: 40 }, (_, at) => ["2026-03-02T08:01:00Z", `U${at}`, at]);
    expect(courses(observation(), run, many)).toHaveLength(MOST_SUBJECTS);
    expect(courses(observation(), run, [])).toEqual([]);
  });
});
