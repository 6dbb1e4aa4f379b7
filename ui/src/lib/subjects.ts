/**
 * What uses the processors of a system, one row per subject over a window: virtual machines, z/OS service
 * classes, jobs. Sums are of seconds and counts, percentages are made of them anew; of what varies from interval
 * to interval the 95th percentile and the maximum stand beside.
 */

import type { Cell, Kind } from "./api";
import { STATE_COLUMNS, stateSums } from "./waits";

export const BUCKETS = 60;

export interface Figure {
  key: string;
  heading: string;
  sql: string;
  type: Kind;
  unit?: string;
  explain?: string;
  text: string;
  decimals?: number;
}

export interface Subject {
  /** Columns of a subject's name. */
  names: string[];
  table: string;
  /** Rows that tell what was used, flagged ones left out where they would count twice. */
  only: string;
  /** The gauge whose course is drawn. */
  course: string;
  figures: Figure[];
  /** Columns of the measure that the question reads. */
  reads: string[];
  /** More columns of the answer that no table column shows. */
  more?: string;
}

const per = (rate: string): string =>
  `sum(${rate} * seconds) / nullif(sum(seconds) FILTER (WHERE ${rate} IS NOT NULL), 0)`;
const last = (column: string): string =>
  `arg_max(${column}, interval_end) FILTER (WHERE ${column} IS NOT NULL)`;
const shareOf = (seconds: string): string =>
  `100 * sum(${seconds}) / nullif(sum(seconds) FILTER (WHERE ${seconds} IS NOT NULL), 0)`;

export const GUEST: Subject = {
  names: ["userid"],
  table: "guest",
  only: "(flag IS NULL OR basis <> 'sample')",
  course: "cpu_pct",
  figures: [
    {
      key: "cpu_pct",
      decimals: 2,
      heading: "CPU",
      sql: shareOf("cpu_s"),
      type: "float",
      unit: "%",
      explain: "guest.cpu_pct",
      text: "processor time over the window in percent of one processor: its seconds by those of its intervals",
    },
    {
      key: "cpu_p95",
      decimals: 2,
      heading: "p95",
      sql: "quantile_cont(cpu_pct, 0.95)",
      type: "float",
      unit: "%",
      explain: "guest.cpu_pct",
      text: "95th percentile of the intervals",
    },
    {
      key: "cpu_max",
      decimals: 2,
      heading: "max",
      sql: "max(cpu_pct)",
      type: "float",
      unit: "%",
      explain: "guest.cpu_pct",
      text: "the largest of the intervals",
    },
    {
      key: "cpu_wait_pct",
      decimals: 2,
      heading: "CPU wait",
      sql: "sum(cpu_wait_pct * samples) / nullif(sum(samples) FILTER (WHERE cpu_wait_pct IS NOT NULL), 0)",
      type: "float",
      unit: "%",
      explain: "guest.cpu_wait_pct",
      text: "share of all samples of the window in which it waited for a processor",
    },
    {
      key: "cpu_s",
      decimals: 2,
      heading: "CPU raw",
      sql: "sum(cpu_s)",
      type: "float",
      unit: "s",
      explain: "guest.cpu_s",
      text: "processor time, raw: time run on a thread",
    },
    {
      key: "got_pct",
      decimals: 2,
      heading: "of all",
      sql: "100 * sum(cpu_s) / nullif(sum(sum(cpu_s)) OVER (), 0)",
      type: "float",
      unit: "%",
      explain: "guest.cpu_s",
      text: "observed share: its processor time in percent of that of all guests in the window",
    },
    {
      key: "mt1_s",
      decimals: 2,
      heading: "MT-1",
      sql: "sum(mt1_s)",
      type: "float",
      unit: "s",
      explain: "guest.mt1_s",
      text: "processor time as it would have been alone on the core",
    },
    {
      key: "prorated_s",
      decimals: 2,
      heading: "prorated",
      sql: "sum(prorated_s)",
      type: "float",
      unit: "s",
      explain: "guest.prorated_s",
      text: "prorated core time: full alone on the core, half beside another thread",
    },
    {
      key: "tv",
      decimals: 3,
      heading: "T/V",
      sql: "sum(cpu_s) FILTER (WHERE virtual_s IS NOT NULL) / nullif(sum(virtual_s), 0)",
      type: "float",
      explain: "guest.tv",
      text: "total to virtual time",
    },
    {
      key: "dispatch_wait_s",
      decimals: 3,
      heading: "Dispatch wait",
      sql: "sum(dispatch_wait_s)",
      type: "float",
      unit: "s",
      explain: "guest.dispatch_wait_s",
      text: "time it waited for dispatch while it was dispatchable",
    },
    {
      key: "share",
      heading: "Share",
      sql:
        `coalesce(${last("share_kind")}, '') || coalesce(' ' || format('{:g}', ${last("share")}), '') ` +
        `|| coalesce(', ' || ${last("limit_kind")} || ' limit ' || format('{:g}', ${last("share_limit")}), '')`,
      type: "text",
      explain: "guest.share",
      text: "the share that the virtual machine had last in the window, and its limit",
    },
    {
      key: "storage_mib",
      decimals: 0,
      heading: "Storage",
      sql: `${last("storage_bytes")} / 1048576`,
      type: "float",
      unit: "MiB",
      explain: "guest.storage_bytes",
      text: "storage it is defined with",
    },
    {
      key: "resident_mib",
      decimals: 1,
      heading: "Resident, max",
      sql: "max(resident_pages) / 256",
      type: "float",
      unit: "MiB",
      explain: "guest.resident_pages",
      text: "most of its pages in real storage at the end of an interval",
    },
    {
      key: "page_rate",
      decimals: 1,
      heading: "Paging",
      sql: per("(page_read_rate + page_write_rate)"),
      type: "float",
      unit: "/s",
      explain: "guest.page_read_rate",
      text: "pages read from and written to paging volumes",
    },
    {
      key: "page_max",
      decimals: 1,
      heading: "max",
      sql: "max(page_read_rate + page_write_rate)",
      type: "float",
      unit: "/s",
      explain: "guest.page_read_rate",
      text: "pages read and written in the interval with most of them",
    },
    {
      key: "io_rate",
      decimals: 1,
      heading: "Virtual I/O",
      sql: per("virtual_io_rate"),
      type: "float",
      unit: "/s",
      explain: "guest.virtual_io_rate",
      text: "virtual I/O operations",
    },
    {
      key: "account",
      heading: "Account",
      sql: last("account"),
      type: "text",
      explain: "guest.account",
      text: "account number",
    },
  ],
  reads: [
    ..."basis account group_name cpu_pool share_kind share share_limit limit_kind cpu_s mt1_s prorated_s".split(
      " ",
    ),
    ..."virtual_s cpu_pct samples dispatch_wait_s storage_bytes resident_pages page_read_rate".split(" "),
    ..."page_write_rate virtual_io_rate".split(" "),
    ...STATE_COLUMNS,
  ],
  more: stateSums(),
};

export const WORKLOAD: Subject = {
  names: ["class", "class_kind", "period"],
  table: "workload",
  only: "flag IS NULL",
  course: "appl_cp_pct",
  figures: [
    {
      key: "workload",
      heading: "Workload",
      sql: last("workload"),
      type: "text",
      explain: "workload.workload",
      text: "workload the class belongs to",
    },
    {
      key: "importance",
      heading: "Imp.",
      sql: last("importance"),
      type: "int",
      explain: "workload.importance",
      text: "importance, 1 highest to 5",
    },
    {
      key: "goal",
      heading: "Goal",
      sql: `coalesce(${last("goal_kind")}, '') || coalesce(' ' || format('{:g}', ${last("goal")}), '')`,
      type: "text",
      explain: "workload.goal",
      text: "kind of goal; a velocity in percent, a response time in seconds",
    },
    {
      key: "pi_p50",
      decimals: 2,
      heading: "PI, median",
      sql: "quantile_cont(performance_index, 0.5)",
      type: "float",
      explain: "workload.performance_index",
      text: "performance index, median of the intervals; above 1 the goal is missed",
    },
    {
      key: "pi_max",
      decimals: 2,
      heading: "PI, max",
      sql: "max(performance_index)",
      type: "float",
      explain: "workload.performance_index",
      text: "performance index of the worst interval",
    },
    {
      key: "velocity_p50",
      decimals: 1,
      heading: "Velocity, median",
      sql: "quantile_cont(velocity_pct, 0.5)",
      type: "float",
      unit: "%",
      explain: "workload.velocity_pct",
      text: "execution velocity, median of the intervals",
    },
    {
      key: "velocity_min",
      decimals: 1,
      heading: "min",
      sql: "min(velocity_pct)",
      type: "float",
      unit: "%",
      explain: "workload.velocity_pct",
      text: "execution velocity of the worst interval",
    },
    {
      key: "cp_s",
      decimals: 2,
      heading: "CP",
      sql: "sum(cp_s)",
      type: "float",
      unit: "s",
      explain: "workload.cp_s",
      text: "processor time on general processors",
    },
    {
      key: "ziip_s",
      decimals: 2,
      heading: "zIIP",
      sql: "sum(ziip_s)",
      type: "float",
      unit: "s",
      explain: "workload.ziip_s",
      text: "processor time on zIIPs, in seconds of a zIIP",
    },
    {
      key: "ziip_on_cp_s",
      decimals: 2,
      heading: "zIIP on CP",
      sql: "sum(ziip_on_cp_s)",
      type: "float",
      unit: "s",
      explain: "workload.ziip_on_cp_s",
      text: "time eligible for a zIIP but run on a CP",
    },
    {
      key: "appl_cp_pct",
      decimals: 2,
      heading: "APPL % CP",
      sql: shareOf("cp_s"),
      type: "float",
      unit: "%",
      explain: "workload.appl_cp_pct",
      text: "processor time on general processors over the window in percent of one",
    },
    {
      key: "appl_max",
      decimals: 2,
      heading: "max",
      sql: "max(appl_cp_pct)",
      type: "float",
      unit: "%",
      explain: "workload.appl_cp_pct",
      text: "the largest of the intervals",
    },
    {
      key: "ended",
      heading: "Ended",
      sql: "sum(ended)",
      type: "int",
      explain: "workload.ended",
      text: "transactions ended",
    },
    {
      key: "response_s",
      decimals: 4,
      heading: "Response",
      sql: "sum(response_s * ended) / nullif(sum(ended) FILTER (WHERE response_s IS NOT NULL), 0)",
      type: "float",
      unit: "s",
      explain: "workload.response_s",
      text: "mean response time of all transactions that ended in the window",
    },
    {
      key: "response_max",
      decimals: 4,
      heading: "max",
      sql: "max(response_s)",
      type: "float",
      unit: "s",
      explain: "workload.response_s",
      text: "mean response time of the worst interval",
    },
  ],
  reads: [
    ..."workload importance goal_kind goal performance_index velocity_pct cp_s ziip_s ziip_on_cp_s".split(
      " ",
    ),
    ..."appl_cp_pct ended response_s".split(" "),
  ],
};

const seconds = (column: string, heading: string, text: string): Figure => ({
  key: column,
  heading,
  sql: `sum(${column})`,
  type: "float",
  unit: "s",
  decimals: 2,
  explain: `job.${column}`,
  text,
});

export const JOB: Subject = {
  names: ["job", "job_id"],
  table: "job",
  only: "flag IS NULL",
  course: "cp_s",
  figures: [
    {
      key: "program",
      heading: "Program",
      sql: last("program"),
      type: "text",
      explain: "job.program",
      text: "program of the last step",
    },
    {
      key: "work_type",
      heading: "Type",
      sql: last("work_type"),
      type: "text",
      explain: "job.work_type",
      text: "kind of address space",
    },
    {
      key: "service_class",
      heading: "Service class",
      sql: last("service_class"),
      type: "text",
      explain: "job.service_class",
      text: "service class",
    },
    seconds("cp_s", "CP", "processor time on CPs"),
    seconds("tcb_s", "TCB", "processor time of tasks on CPs"),
    seconds("srb_s", "SRB", "processor time of service requests that cannot be preempted"),
    seconds("enclave_s", "Enclaves", "processor time of enclaves on CPs; part of TCB"),
    seconds("ziip_s", "zIIP", "processor time on zIIPs, in seconds of a zIIP"),
    seconds("ziip_on_cp_s", "zIIP on CP", "time eligible for a zIIP but run on a CP; part of TCB"),
    {
      key: "seconds",
      decimals: 0,
      heading: "Covered",
      sql: "sum(seconds)",
      type: "float",
      unit: "s",
      explain: "job.seconds",
      text: "time that its records cover",
    },
    {
      key: "cp_mips",
      decimals: 1,
      heading: "MIPS on CP",
      sql: "sum(cp_instructions) / nullif(sum(tcb_s + srb_s) FILTER (WHERE cp_instructions IS NOT NULL), 0) / 1e6",
      type: "float",
      unit: "MIPS",
      explain: "job.cp_mips",
      text: "instructions on CPs by the processor time of tasks and service requests there",
    },
  ],
  reads: [
    ..."kind program work_type service_class cp_s tcb_s srb_s enclave_s ziip_s ziip_on_cp_s".split(" "),
    "cp_instructions",
  ],
};

/** One question: a row per subject, its course as `bucket:value` of the largest value in each of the buckets. */
export function question(subject: Subject, condition: string, window: [number, number]): string {
  const [from, to] = window;
  const wide = Math.max(1e-6, (to - from) / BUCKETS);
  const names = subject.names.join(", ");
  const figures = subject.figures.map((one) => `  ${one.sql} AS ${one.key}`).join(",\n");
  return `WITH used AS (
  SELECT *, greatest(0, least(${BUCKETS - 1}, ceil((epoch(interval_end) - ${from}) / ${wide})::INTEGER - 1)) AS bucket
  FROM {${subject.table}}
  WHERE ${condition} AND ${subject.only}
), course AS (
  SELECT ${names}, string_agg(bucket || ':' || round(value, 4), ',' ORDER BY bucket) AS course
  FROM (SELECT ${names}, bucket, max(${subject.course}) AS value FROM used GROUP BY ALL)
  WHERE value IS NOT NULL GROUP BY ALL
), added AS (
  SELECT ${names},
${figures}${subject.more ? `,\n  ${subject.more}` : ""}
  FROM used GROUP BY ${names}
)
SELECT added.*, course.course FROM added LEFT JOIN course ON ${subject.names
    .map((name) => `added.${name} IS NOT DISTINCT FROM course.${name}`)
    .join(" AND ")}
ORDER BY ${subject.names.map((name) => `added.${name}`).join(", ")}`;
}

/** Values of the buckets; null where there is none. */
export function course(text: Cell): (number | null)[] {
  const values: (number | null)[] = Array.from({ length: BUCKETS }, () => null);
  if (typeof text !== "string" || !text) return values;
  for (const pair of text.split(",")) {
    const [bucket, value] = pair.split(":").map(Number);
    if (bucket !== undefined && value !== undefined && Number.isFinite(value)) values[bucket] = value;
  }
  return values;
}

/** Few intervals fill few buckets: the line goes over empty ones to the next, as long as no interval is missing. */
export function bridged(values: (number | null)[], gap: number): (number | null)[] {
  const found = [...values];
  let before = -1;
  values.forEach((value, at) => {
    if (value === null) return;
    if (before >= 0 && at - before > 1 && at - before <= gap) {
      const from = values[before]!;
      for (let n = before + 1; n < at; n += 1)
        found[n] = from + ((value - from) * (n - before)) / (at - before);
    }
    before = at;
  });
  return found;
}

/** So many buckets may lie between two intervals that follow each other: 1.6 times the usual distance. */
export function step(courses: (number | null)[][]): number {
  const found = new Set<number>();
  for (const values of courses) values.forEach((value, at) => value !== null && found.add(at));
  const places = [...found].sort((a, b) => a - b);
  const steps = places.slice(1).map((at, n) => at - places[n]!);
  if (!steps.length) return 1;
  const usual = steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)]!;
  return Math.ceil(1.6 * usual);
}
