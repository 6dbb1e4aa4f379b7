/** Results of the rig: texts of verdicts, and observed and expected values over time. */

import type {
  ServerChart,
  RigNumber,
  RigObservation,
  RigPolicy,
  RigRun,
  RigScenario,
} from "../../lib/api/types";
import type { Cell } from "../../lib/api/values";
import { seconds } from "../../lib/time/format";

export const named = (policy: RigPolicy): string =>
  policy.control ? `control: ${policy.name}` : policy.name;

/** The result of a scenario. */
export function verdict(scenario: RigScenario): string {
  if (!scenario.complete) return "interrupted";
  if (scenario.policies.some((policy) => policy.errors.length)) return "error";
  return scenario.passed ? "as expected" : "not as expected";
}

/** The result of an observation under a policy. A control's verdict must fail. */
export function word(policy: RigPolicy, observation: RigObservation): string {
  if (policy.errors.length) return "error";
  if (policy.control) {
    if (!policy.passed) return "passed, expected to fail";
    return observation.passed ? "passes" : "fails, as it must";
  }
  if (!policy.judged) return "not judged";
  return observation.passed ? "pass" : "fail";
}

/** The runs of a scenario, each with its policy. */
export const runsOf = (scenario: RigScenario): { policy: RigPolicy; run: RigRun }[] =>
  scenario.policies.flatMap((policy) => policy.runs.map((run) => ({ policy, run })));

/** Maximum number of subjects drawn over time: the first ones. */
export const MOST_SUBJECTS = 12;

/**
 * Returns charts of an observation over time, one for each subject: the expected value, the ends of the
 * band, and the observed value.
 *
 * @param rows interval end, subject and value, by time
 */
export function courses(observation: RigObservation, run: RigRun, rows: Cell[][]): ServerChart[] {
  const first = seconds(String(rows[0]?.[0] ?? "")) ?? 0;
  const bySubject = new Map<string, [number, number | null][]>();
  for (const [end, subject, value] of rows) {
    const at = seconds(String(end));
    if (at === null) continue;
    const name = String(subject ?? "").trimEnd();
    const points = bySubject.get(name) ?? [];
    points.push([(at - first) / 60, typeof value === "number" ? value : null]);
    bySubject.set(name, points);
  }
  const expected = new Map<string, RigNumber>();
  for (const number of observation.relative ? [] : observation.numbers) {
    if (number.case === run.case) expected.set(number.subject, number);
  }
  const subjects = expected.size
    ? [...bySubject].filter(([subject]) => expected.has(subject))
    : [...bySubject];
  return subjects.slice(0, MOST_SUBJECTS).map(([subject, points]) => {
    const constant = (name: string, value: number | null | undefined) =>
      typeof value === "number" ? [{ name, values: points.map(() => value) }] : [];
    const number = expected.get(subject);
    return {
      title: subject ? `${observation.name} of ${subject}` : observation.name,
      kind: "lines",
      places: points.map(([at]) => at),
      series: [
        ...constant("Expected", number?.expected),
        ...constant("Minimum allowed", number?.low),
        ...constant("Maximum allowed", number?.high),
        { name: "Observed", values: points.map(([, value]) => value) },
      ],
      unit: observation.relative ? "" : observation.unit,
      along: "Minutes after the first interval",
    };
  });
}
