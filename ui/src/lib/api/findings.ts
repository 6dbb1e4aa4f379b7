/** Findings by rule, and where in the page the matter of a rule is shown. */

import type { Finding } from "./answers";

export interface Group {
  rule: string;
  title: string;
  severity: Finding["severity"];
  rows: Finding[];
}

const ORDER = ["crit", "warn", "info"];

/** One group per rule, in the order of the findings: worst first. */
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
