/** How seconds are owned: system, group, guest, virtual processor; on z/OS workload, class, period or job, step. */

export interface OwnerQuestion {
  query: string;
  keep: Record<string, string[]>;
  /** The same for `zlens sql`. */
  plain: string;
}

interface Owning {
  table: string;
  note: string;
  groups: { key: string; name: string; sql: string }[];
  times: { column: string; name: string; lacks?: string }[];
  question: (group: string, time: string, condition: string, byCpu: boolean) => OwnerQuestion;
}

const last = (column: string): string =>
  `arg_max(${column}, interval_end) FILTER (WHERE ${column} IS NOT NULL)`;

function made(query: string, keep: Record<string, string[]>): OwnerQuestion {
  return { query, keep, plain: query.replace(/\{(\w+)\}/g, "$1") };
}

const USED = "(flag IS NULL OR basis <> 'sample')";
const MULTITHREADING = "it is only known with multithreading";

export const OWNERS: Record<"guest" | "workload" | "job", Owning> = {
  guest: {
    table: "guest",
    note: "Time charged to virtual machines; CP's own time is not in it.",
    groups: [
      { key: "account", name: "account", sql: `coalesce(${last("account")}, 'no account')` },
      { key: "group", name: "group", sql: `coalesce(${last("group_name")}, 'no group')` },
      {
        key: "share",
        name: "share",
        sql: `coalesce(${last("share_kind")} || coalesce(' ' || format('{:g}', ${last("share")}), ''), 'share unknown')`,
      },
      { key: "pool", name: "CPU pool", sql: `coalesce(${last("cpu_pool")}, 'no pool')` },
    ],
    times: [
      { column: "cpu_s", name: "raw" },
      { column: "mt1_s", name: "MT-1 equivalent", lacks: MULTITHREADING },
      { column: "prorated_s", name: "prorated core time", lacks: MULTITHREADING },
    ],
    question: (group, time, condition, byCpu) => {
      const guests = `guests AS (
  SELECT userid, ${group} AS owner, sum(${time}) AS whole
  FROM {guest} WHERE ${condition} AND ${USED} GROUP BY userid
)`;
      const keep: Record<string, string[]> = {
        guest: [..."basis account group_name cpu_pool share_kind share cpu_s mt1_s prorated_s".split(" ")],
      };
      if (!byCpu) return made(`WITH ${guests} SELECT owner, userid, whole FROM guests ORDER BY ALL`, keep);
      keep["guest_cpu"] = ["basis", "cpu_s", "mt1_s", "prorated_s", "cpu_pct"];
      return made(
        `WITH ${guests}, processors AS (
  SELECT userid, vcpu, sum(${time}) AS part
  FROM {guest_cpu} WHERE ${condition} AND ${USED} AND vcpu IS NOT NULL GROUP BY ALL
)
SELECT owner, userid, 'vCPU ' || vcpu AS processor, part FROM processors JOIN guests USING (userid)
UNION ALL
SELECT owner, userid, NULL, whole - coalesce(told, 0)
FROM guests LEFT JOIN (SELECT userid, sum(part) AS told FROM processors GROUP BY userid) USING (userid)
WHERE whole - coalesce(told, 0) > 0.001 * whole
ORDER BY ALL`,
        keep,
      );
    },
  },
  workload: {
    table: "workload",
    note: "Service classes; report classes show the same work once more and are not added.",
    groups: [
      { key: "workload", name: "workload", sql: `coalesce(${last("workload")}, 'no workload')` },
      {
        key: "importance",
        name: "importance",
        sql: `coalesce('importance ' || ${last("importance")}, 'no importance')`,
      },
    ],
    times: [
      { column: "cp_s", name: "CP" },
      { column: "ziip_s", name: "zIIP" },
      { column: "ziip_on_cp_s", name: "zIIP work on CP" },
    ],
    question: (group, time, condition) =>
      made(
        `SELECT ${group} AS owner, class, 'period ' || period AS part, sum(${time}) AS seconds
FROM {workload} WHERE ${condition} AND flag IS NULL AND class_kind = 'service' GROUP BY class, period ORDER BY ALL`,
        { workload: ["workload", "importance", "cp_s", "ziip_s", "ziip_on_cp_s"] },
      ),
  },
  job: {
    table: "job",
    note: "The records chosen above the table.",
    groups: [
      { key: "class", name: "service class", sql: `coalesce(${last("service_class")}, 'no service class')` },
      { key: "type", name: "type", sql: `coalesce(${last("work_type")}, 'no type')` },
      { key: "user", name: "user", sql: `coalesce(${last('"user"')}, 'no user')` },
    ],
    times: [
      { column: "cp_s", name: "CP" },
      { column: "ziip_s", name: "zIIP" },
      { column: "ziip_on_cp_s", name: "zIIP work on CP" },
    ],
    question: (group, time, condition) =>
      made(
        `SELECT ${group} AS owner, records.job || coalesce(' ' || job_id, '') AS name, 'step ' || step_number AS part,
  sum(${time}) AS seconds
FROM {job} AS records WHERE ${condition} AND flag IS NULL GROUP BY records.job, job_id, step_number ORDER BY ALL`,
        { job: ["work_type", "service_class", "user", "cp_s", "ziip_s", "ziip_on_cp_s"] },
      ),
  },
};
