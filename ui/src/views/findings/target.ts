/** The view that shows the subject of a finding. */

import type { Finding } from "../../lib/api/answers";

/** The view of a rule's area, and the setting for a subject like `guest LINUX01` or `device 0145 VOL001`. */
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

/** The view and settings that show a finding's subject. */
export function placeOf(finding: Finding): { view: string; settings: Record<string, string> } | null {
  const pool = /^(\S+) pool (\d+)/.exec(finding.subject ?? "");
  if (pool && finding.area === "io") return { view: "io", settings: { pool: `${pool[1]}.${pool[2]}` } };
  for (const [form, view, key] of SETTINGS) {
    const match = form.exec(finding.subject ?? "");
    if (match) return { view, settings: { [key]: match[1]! } };
  }
  const view = VIEWS[finding.area];
  return view ? { view, settings: {} } : null;
}
