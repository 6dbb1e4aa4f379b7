/** Findings grouped by rule. */

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
