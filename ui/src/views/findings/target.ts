/** The view that shows the subject of a finding. */

import type { Finding } from "../../lib/api/types";
import { linkForSubject, type Target } from "../../lib/api/target";

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

/** The view and settings that show a finding's subject. */
export function linkForFinding(finding: Finding): Target | null {
  const pool = /^(\S+) pool (\d+)/.exec(finding.subject ?? "");
  if (pool && finding.area === "io") return { view: "io", settings: { pool: `${pool[1]}.${pool[2]}` } };
  const target = linkForSubject(finding.subject);
  if (target) return target;
  const view = VIEWS[finding.area];
  return view ? { view, settings: {} } : null;
}
