/** Findings grouped by rule. */

import { seconds } from "../time/format";
import type { Finding } from "./answers";

export interface Group {
  rule: string;
  title: string;
  severity: Finding["severity"];
  rows: Finding[];
}

const ORDER = ["crit", "warn", "info"];

/** One group per rule, worst first, as the findings are ordered. */
export function grouped(findings: readonly Finding[]): Group[] {
  const groups = new Map<string, Group>();
  for (const finding of findings) {
    const group = groups.get(finding.rule);
    if (!group) {
      groups.set(finding.rule, {
        rule: finding.rule,
        title: finding.title,
        severity: finding.severity,
        rows: [finding],
      });
      continue;
    }
    group.rows.push(finding);
    if (ORDER.indexOf(finding.severity) < ORDER.indexOf(group.severity)) group.severity = finding.severity;
  }
  return [...groups.values()];
}

/** The findings that hold at some time within a span, in seconds UTC. */
export function during(findings: readonly Finding[], from: number, to: number): Finding[] {
  return findings.filter((finding) => {
    const first = seconds(finding.from);
    const last = seconds(finding.to);
    return first !== null && last !== null && first <= to && last >= from;
  });
}
