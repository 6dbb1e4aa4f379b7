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
export function grouped(found: readonly Finding[]): Group[] {
  const groups = new Map<string, Group>();
  for (const each of found) {
    const group = groups.get(each.rule);
    if (!group) {
      groups.set(each.rule, { rule: each.rule, title: each.title, severity: each.severity, rows: [each] });
      continue;
    }
    group.rows.push(each);
    if (ORDER.indexOf(each.severity) < ORDER.indexOf(group.severity)) group.severity = each.severity;
  }
  return [...groups.values()];
}
