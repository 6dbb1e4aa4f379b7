/** Findings grouped by rule. */

import { seconds } from "../time/format";
import type { Finding, FindingsPart } from "./types";

export interface Group {
  rule: string;
  title: string;
  severity: Finding["severity"];
  rows: Finding[];
}

const ORDER = ["crit", "warn", "info"];

/** Returns one group per rule, worst first, in the order of the findings. */
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

/** Identifies a finding: the settings of the findings view that show it. */
export interface FindingAddress {
  rule: string;
  /** The source of its rows: sources of one system may have the same subjects. */
  data: string | null;
  subject: string | null;
}

export const addressOf = ({ rule, data, subject }: FindingAddress): FindingAddress => ({
  rule,
  data,
  subject,
});

/** Returns a text that differs between findings of a system. */
export const keyOf = (finding: FindingAddress): string => JSON.stringify(Object.values(addressOf(finding)));

/** Returns the finding that settings of the findings view name; without `data`, of the first source. */
export function findingAt<F extends FindingAddress>(
  rows: readonly F[],
  data: string | null,
  subject: string | null,
): F | undefined {
  return rows.find((row) => row.subject === subject && (data === null || row.data === data));
}

/** Returns the findings that hold at any time within a span, in seconds UTC. */
export function during(findings: readonly Finding[], from: number, to: number): Finding[] {
  return findings.filter((finding) => {
    const first = seconds(finding.from);
    const last = seconds(finding.to);
    return first !== null && last !== null && first <= to && last >= from;
  });
}

export interface Findings {
  /** Worst first. */
  rows: Finding[];
  /** Number of rules checked. */
  asked: number;
  missing: { rule: string; why: string }[];
}

/** Returns the findings of a system in the parts received. */
export function gathered(parts: readonly FindingsPart[], system: string): Findings {
  const asked = parts.flatMap((part) => part.asked);
  const applies = asked.filter(({ systems }) => systems === null || systems.includes(system));
  const elsewhere = asked
    .filter((rule) => !applies.includes(rule))
    .map(({ rule, systems }) => ({ rule, why: `only for ${systems!.join(", ")}` }));
  return {
    rows: ranked(parts).filter((row) => row.system === null || row.system === system),
    asked: applies.length,
    missing: [...parts.flatMap((part) => part.missing), ...elsewhere].sort((a, b) =>
      a.rule < b.rule ? -1 : 1,
    ),
  };
}

/** Returns the findings of all systems in the parts received, worst first. */
export function ranked(parts: readonly FindingsPart[]): Finding[] {
  return parts
    .flatMap((part) => part.rows.map((row, at) => ({ row, order: part.orders[at]! })))
    .sort((a, b) => sooner(a.order, b.order))
    .map(({ row }) => row);
}

/** Compares two lists by their first difference. */
function sooner(a: (string | number)[], b: (string | number)[]): number {
  const at = a.findIndex((part, at) => part !== b[at]);
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1;
}
