/** Findings by rule, and where in the page the matter of a rule is shown. */

import type { Finding } from "./api";

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

/** View of a rule's area, and the setting that a subject like `guest LINUX01` or `device 0145 VOL001` becomes. */
const VIEWS: Record<string, string> = {
  cpu: "processors",
  smt: "processors",
  lpar: "machine",
  cpumf: "cpumf",
  io: "io",
  paging: "io",
  storage: "io",
  user: "guests",
  share: "guests",
  chargeback: "guests",
};

const SETTINGS: [RegExp, string, string][] = [
  [/^volume (\S+)/, "io", "find"],
  [/^(?:guest|user) (\S+)/, "guests", "user"],
  [/^device (\S+)/, "io", "device"],
  [/^CPU (\S+)/, "processors", "cpu"],
];

/** Where to look at the matter of a finding. */
export function placeOf(finding: Finding): { view: string; settings: Record<string, string> } | null {
  const pool = /^(\S+) pool (\d+)/.exec(finding.subject ?? "");
  if (pool && finding.area === "io") return { view: "io", settings: { pool: `${pool[1]}.${pool[2]}` } };
  for (const [form, view, key] of SETTINGS) {
    const found = form.exec(finding.subject ?? "");
    if (found) return { view, settings: { [key]: found[1]! } };
  }
  const view = VIEWS[finding.area];
  return view ? { view, settings: {} } : null;
}
