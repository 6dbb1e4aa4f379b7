/** What is drawn over time of one subject. */

export interface SubjectChart {
  name: string;
  title: string;
  unit: string;
  explain: string;
  /** Column and name of each line. */
  lines: [string, string][];
  note?: string;
  most?: number;
  /** What values are multiplied by for the unit shown. */
  scale?: number;
}

export const GUEST_CHARTS: SubjectChart[] = [
  {
    name: "cpu",
    title: "Processor time",
    unit: "%",
    explain: "guest.cpu_pct",
    lines: [["cpu_pct", "CPU"]],
    note: "100 % is one processor",
  },
  {
    name: "times",
    title: "Processor time of an interval, three ways",
    unit: "s",
    explain: "guest.prorated_s",
    lines: [
      ["cpu_s", "raw"],
      ["mt1_s", "MT-1 equivalent"],
      ["prorated_s", "prorated core time"],
    ],
  },
  {
    name: "dispatch-wait",
    title: "Wait for dispatch, mean",
    unit: "ms",
    scale: 1000,
    explain: "guest.dispatch_wait_mean_s",
    lines: [["dispatch_wait_mean_s", "mean wait"]],
  },
  {
    name: "paging",
    title: "Paging",
    unit: "/s",
    explain: "guest.page_read_rate",
    lines: [
      ["page_read_rate", "pages read"],
      ["page_write_rate", "pages written"],
      ["page_steal_rate", "pages stolen"],
    ],
  },
  {
    name: "io",
    title: "Virtual I/O",
    unit: "/s",
    explain: "guest.virtual_io_rate",
    lines: [
      ["virtual_io_rate", "all"],
      ["dasd_io_rate", "DASD"],
      ["diag98_rate", "DIAGNOSE X'98'"],
      ["block_io_rate", "block I/O"],
      ["avoided_io_rate", "avoided"],
    ],
  },
  {
    name: "transactions",
    title: "Transactions, as CP counts them",
    unit: "/s",
    explain: "guest.transaction_rate",
    lines: [["transaction_rate", "ended"]],
  },
  {
    name: "response",
    title: "Time of a transaction, as CP counts them",
    unit: "s",
    explain: "guest.response_s",
    lines: [["response_s", "mean"]],
  },
  {
    name: "storage",
    title: "Pages",
    unit: "pages",
    explain: "guest.resident_pages",
    lines: [
      ["resident_pages", "resident"],
      ["working_set_pages", "working set"],
      ["paging_slots", "on paging volumes"],
    ],
  },
];

export const WORKLOAD_CHARTS: SubjectChart[] = [
  {
    name: "appl",
    title: "Processor time",
    unit: "%",
    explain: "workload.appl_cp_pct",
    lines: [
      ["appl_cp_pct", "CP"],
      ["appl_ziip_pct", "zIIP"],
      ["appl_ziip_on_cp_pct", "zIIP work on CP"],
    ],
    note: "100 % is one processor; zIIP work on CP is part of CP",
  },
  {
    name: "index",
    title: "Performance index",
    unit: "index",
    explain: "workload.performance_index",
    lines: [["performance_index", "index"]],
    note: "above 1 the goal is missed",
    most: 1,
  },
  {
    name: "velocity",
    title: "Velocity and delay for a CP",
    unit: "%",
    explain: "workload.velocity_pct",
    lines: [
      ["velocity_pct", "velocity"],
      ["cpu_delay_pct", "delayed for a CP"],
    ],
    most: 100,
  },
  {
    name: "ended",
    title: "Transactions ended",
    unit: "/s",
    explain: "workload.ended_rate",
    lines: [["ended_rate", "ended"]],
  },
  {
    name: "response",
    title: "Response time",
    unit: "s",
    explain: "workload.response_s",
    lines: [
      ["response_s", "response"],
      ["execution_s", "execution"],
      ["queue_s", "queued"],
    ],
  },
  {
    name: "active",
    title: "Active on average",
    unit: "count",
    explain: "workload.active",
    lines: [
      ["active", "active"],
      ["resident", "in storage"],
      ["enclaves", "enclaves"],
    ],
  },
];

export const JOB_CHARTS: SubjectChart[] = [
  {
    name: "seconds",
    title: "Processor time of a record",
    unit: "s",
    explain: "job.cp_s",
    lines: [
      ["cp_s", "CP"],
      ["ziip_s", "zIIP"],
      ["ziip_on_cp_s", "zIIP work on CP"],
    ],
  },
  {
    name: "kinds",
    title: "Where the time on CPs went",
    unit: "s",
    explain: "job.tcb_s",
    lines: [
      ["tcb_s", "TCB"],
      ["srb_s", "SRB"],
      ["enclave_s", "enclaves"],
      ["preemptable_s", "preemptable SRB"],
    ],
  },
];

export function columnsOf(charts: SubjectChart[]): string[] {
  return [...new Set(charts.flatMap((chart) => chart.lines.map(([column]) => column)))];
}
