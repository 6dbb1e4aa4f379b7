/** The kinds of subjects there are: which a system has, and what they are called. */

import { GUEST_CHARTS, JOB_CHARTS, WORKLOAD_CHARTS, type SubjectChart } from "./subjectCharts";
import { GUEST, JOB, WORKLOAD, type Subject } from "./subjects";

export type SubjectKind = "guest" | "workload" | "job";

interface About {
  subject: Subject;
  title: string;
  many: string;
  headings: Record<string, string>;
  course: string;
  /** The figure that adds up to what was spent. */
  spent: string;
  spentName: string;
  charts: SubjectChart[];
}

export const SUBJECTS: Record<SubjectKind, About> = {
  guest: {
    subject: GUEST,
    title: "Guests",
    many: "guests",
    headings: { userid: "Guest" },
    course: "CPU %",
    spent: "cpu_s",
    spentName: "of processors, raw",
    charts: GUEST_CHARTS,
  },
  workload: {
    subject: WORKLOAD,
    title: "Workloads",
    many: "class periods",
    headings: { class: "Class", class_kind: "Kind", period: "Period" },
    course: "APPL %",
    spent: "cp_s",
    spentName: "of CPs",
    charts: WORKLOAD_CHARTS,
  },
  job: {
    subject: JOB,
    title: "Jobs",
    many: "jobs",
    headings: { job: "Job", job_id: "Identifier" },
    course: "CP s",
    spent: "cp_s",
    spentName: "of CPs",
    charts: JOB_CHARTS,
  },
};

/** Rows that must not be added to each other: one kind of them at a time. */
export const RECORDS: Partial<Record<SubjectKind, { key: string; name: string; sql: string }[]>> = {
  workload: [
    { key: "service", name: "service classes", sql: "class_kind = 'service'" },
    { key: "report", name: "report classes", sql: "class_kind = 'report'" },
  ],
  job: [
    {
      key: "interval",
      name: "records of intervals",
      sql: "kind IN ('interval', 'last interval', 'system interval')",
    },
    { key: "job", name: "records of ended jobs", sql: "kind = 'job'" },
    { key: "step", name: "records of ended steps", sql: "kind = 'step'" },
  ],
};

/** What the system looked at has: guests come from z/VM, the others from z/OS. */
export function kindsOf(sources: { source: string }[], fills: (table: string) => boolean): SubjectKind[] {
  const vm = sources.some((one) => one.source === "zvm-monitor");
  const zos = sources.some((one) => ["smf", "rmf-xml"].includes(one.source));
  const found: SubjectKind[] = [];
  if (vm && fills("guest")) found.push("guest");
  if (zos && fills("workload")) found.push("workload");
  if (zos && fills("job")) found.push("job");
  return found;
}
