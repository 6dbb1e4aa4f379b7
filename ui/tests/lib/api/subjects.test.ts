import { describe, expect, it } from "vitest";
import { matching } from "../../../src/views/guests/filter";
import type { AggregateAnswer } from "../../../src/lib/api/answers";
import { ownerPaths, ownersQuestion, partsQuestion } from "../../../src/views/guests/ownerQuestions";
import { depth, ownerAt, ownerRows, pathOf, pathText, tree } from "../../../src/views/guests/owners";
import {
  bridged,
  BUCKETS,
  columnsOf,
  course,
  figureOf,
  question,
  rowsOf,
  step,
  textOf,
} from "../../../src/views/guests/subjects";
import { present, type Figure, type Owners, type State, type Subject } from "../../../src/lib/api/subject";
import {
  legend,
  parts,
  sampled,
  shareOf,
  stretches,
  told,
  waiting,
  waitsAt,
} from "../../../src/views/guests/waits";

const answered = (columns: string[], rows: AggregateAnswer["rows"]): AggregateAnswer => ({
  columns,
  rows,
  units: {},
  bucket_s: 0,
  top: null,
  sql: "",
  more: false,
});

describe("names", () => {
  it("keeps parts of names and patterns", () => {
    expect(["LNX01", "LNX02", "CMS"].filter(matching("lnx"))).toEqual(["LNX01", "LNX02"]);
    expect(["LNX01", "LNX02", "XLNX0"].filter(matching("LNX0?"))).toEqual(["LNX01", "LNX02"]);
    expect(["LNX01", "CMS"].filter(matching(" "))).toEqual(["LNX01", "CMS"]);
    expect(["A.B", "AXB"].filter(matching("A.B*"))).toEqual(["A.B"]);
    expect(["*MASTER*", "MASTER"].filter(matching("?MASTER?"))).toEqual(["*MASTER*"]);
  });
});

describe("owners", () => {
  const root = tree("SYS", [
    ["linux", "LNX01", "vCPU 0", 6],
    ["linux", "LNX01", "vCPU 1", 2],
    ["linux", "LNX01", null, 1],
    ["linux", "LNX02", "vCPU 0", 3],
    ["a/b", "CMS", null, 4],
    ["idle", "NONE", null, 0],
    ["idle", "NULLS", null, null],
  ]);

  it("adds up, largest first; what is not told by processor stays with the guest", () => {
    expect(root.value).toBe(16);
    expect(root.children.map((one) => [one.name, one.value])).toEqual([
      ["linux", 12],
      ["a/b", 4],
    ]);
    const guest = ownerAt(root, ["linux", "LNX01"]);
    expect(guest.value).toBe(9);
    expect(guest.children.map((one) => one.value)).toEqual([6, 2]);
    expect(depth(root)).toBe(4);
    expect(ownerRows(root)).toHaveLength(1 + 2 + 3 + 3);
  });

  it("finds its way from an address, as far as it is there", () => {
    expect(pathOf(pathText(["a/b", "CMS"]))).toEqual(["a/b", "CMS"]);
    expect(pathOf(null)).toEqual([]);
    expect(ownerAt(root, ["a/b", "GONE"]).name).toBe("a/b");
  });

  const how: Owners = {
    note: "",
    group: [{ key: "share", name: "share", pieces: ["{share_kind}", " {share}"], none: "share unknown" }],
    time: [{ column: "cpu_s", name: "raw", lacks: "" }],
    level: [["{userid}"]],
    by: ["userid"],
    where: {},
  };
  const group = how.group[0]!;
  const part = { table: "guest_cpu", pieces: ["vCPU {vcpu}"], keys: ["vcpu"], chart: {} as never };
  const whole = answered(
    ["system", "source", "userid", "cpu_s_total", "share_kind_last", "share_last"],
    [
      ["S", "zvm-monitor", "A", 10, "relative", 100],
      ["S", "zvm-monitor", "B", 3, null, null],
      ["S", "zvm-monitor", "C", null, null, null],
    ],
  );

  it("are asked for with what tells their groups", () => {
    const asked = ownersQuestion("guest", how, group, "cpu_s", { basis: "sample" });
    expect(asked.columns).toEqual({ cpu_s: ["total"], share_kind: ["last"], share: ["last"] });
    expect([asked.by, asked.where]).toEqual([["userid"], { basis: "sample" }]);
    const below = partsQuestion(how, part, "cpu_s", {});
    expect([below.table, below.by]).toEqual(["guest_cpu", ["userid", "vcpu"]]);
  });

  it("are owned by groups; what nobody has a total of is left out", () => {
    expect(ownerPaths(how, group, "cpu_s", whole, null)).toEqual([
      ["relative 100", "A", 10],
      ["share unknown", "B", 3],
    ]);
  });

  it("go down to parts; what those do not make up stays with the subject", () => {
    const answer = answered(
      ["system", "source", "userid", "vcpu", "cpu_s_total"],
      [
        ["S", "zvm-monitor", "A", 0, 6],
        ["S", "zvm-monitor", "A", 1, 3],
        ["S", "zvm-monitor", "A", null, 7],
        ["S", "zvm-monitor", "B", 0, 2.999],
      ],
    );
    expect(ownerPaths(how, group, "cpu_s", whole, { part, answer })).toEqual([
      ["relative 100", "A", "vCPU 0", 6],
      ["relative 100", "A", "vCPU 1", 3],
      ["relative 100", "A", null, 1],
      ["share unknown", "B", "vCPU 0", 2.999],
    ]);
  });

  it("of two sources stand side by side", () => {
    const rows = [...whole.rows, ["S", "smf", "A", 9, "relative", 100]];
    const paths = ownerPaths(how, group, "cpu_s", answered(whole.columns, rows), null);
    expect(paths.map((path) => path[0])).toEqual(["zvm-monitor", "zvm-monitor", "smf"]);
  });
});

describe("states", () => {
  const of = (key: string, columns: string[], waits = true): State => ({ key, name: key, columns, waits });
  const STATES = [
    of("running", ["running_pct"], false),
    of("cpu", ["cpu_wait_pct"]),
    of("page", ["page_wait_pct", "loading_pct"]),
    of("io", ["io_wait_pct"]),
    of("dormant", ["dormant_pct"], false),
  ];
  const shares = { running_pct: 40, cpu_wait_pct: 10, page_wait_pct: 5, loading_pct: 5, dormant_pct: 40 };

  it("stacks to the whole", () => {
    expect(parts(STATES, shares).map((part) => [part.state.key, part.from, part.to])).toEqual([
      ["running", 0, 40],
      ["cpu", 40, 50],
      ["page", 50, 60],
      ["dormant", 60, 100],
    ]);
  });

  it("knows what was not sampled from what was not found", () => {
    const io = STATES.find((state) => state.key === "io")!;
    expect(shareOf(io, shares)).toBeNull();
    expect(sampled({ running_pct: null })).toBe(false);
    expect(sampled({ running_pct: 0 })).toBe(true);
    expect(told({}, String)).toEqual(["no samples"]);
    expect(told(shares, String)).toContain("cpu_wait_pct: 10 %");
  });

  it("knows how much of it was waiting", () => {
    expect(waiting(STATES, shares)).toBe(20);
    expect(waiting(STATES, { running_pct: null })).toBeNull();
  });

  it("has a colour for each state", () => {
    const many = Array.from({ length: 12 }, (_, at) => of(String(at), []));
    expect(new Set(legend(many.slice(0, 9)).map((one) => one.colour)).size).toBe(9);
    expect(legend(many).every((one) => one.colour)).toBe(true);
  });

  it("are stretches of an interval each, or of a bucket", () => {
    const answer = answered(
      ["system", "source", "t", "seconds_total", "running_pct_mean"],
      [
        ["S", "zvm-monitor", 60, 60, 40],
        ["S", "zvm-monitor", 180, 30, null],
      ],
    );
    expect(stretches(answer, ["running_pct"])).toEqual([
      { from: 0, t: 60, shares: { running_pct: 40 } },
      { from: 150, t: 180, shares: { running_pct: null } },
    ]);
    expect(stretches({ ...answer, bucket_s: 120 }, ["running_pct"])[1]!.from).toBe(60);
  });

  it("finds the stretch under the pointer", () => {
    const stretches = [{ from: 0, t: 60, shares }];
    expect(waitsAt(stretches, [0, 120], 0, 100, 400)?.lines[1]).toBe("running: 40 %");
    expect(waitsAt(stretches, [0, 120], 0, 380, 400)).toBeNull();
    expect(waitsAt(stretches, [0, 120], 0, 10, 400)).toBeNull();
  });
});

describe("courses", () => {
  it("puts times into parts of the window", () => {
    const values = course([60, 3600, 3599, 30], [1.5, 2, 7, null], [0, 3600]);
    expect(values).toHaveLength(BUCKETS);
    expect([values[0], values[1], values[59]]).toEqual([1.5, null, 7]);
    expect(course([], [], [0, 60]).every((one) => one === null)).toBe(true);
  });

  it("goes over buckets between two intervals, not over a gap", () => {
    expect(bridged([1, null, 3, null, null, null, 4], 2)).toEqual([1, 2, 3, null, null, null, 4]);
  });

  it("knows how far intervals are apart", () => {
    const at = (...places: number[]) => Array.from({ length: 60 }, (_, n) => (places.includes(n) ? 1 : null));
    expect(step([at(14, 29, 44, 59), at(14)])).toBe(24);
    expect(step([at(1, 2, 3, 9)])).toBe(2);
    expect(step([])).toBe(1);
  });
});

describe("questions", () => {
  const figure = (facts: Partial<Figure>): Figure => ({
    key: "",
    heading: "",
    type: "float",
    unit: "",
    text: "",
    explain: "",
    column: "",
    statistic: "mean",
    pieces: [],
    decimals: 1,
    scale: 1,
    ...facts,
  });
  const share = figure({
    key: "share",
    pieces: ["{share_kind}", " {share}", ", {limit_kind} limit {share_limit}"],
  });
  const subject = {
    table: "guest",
    sources: ["zvm-monitor"],
    name: [{ column: "userid", heading: "Guest" }],
    spent: "cpu_s",
    course: { column: "cpu_pct", heading: "", statistic: "max" },
    figure: [
      figure({ key: "cpu_pct_mean", column: "cpu_pct" }),
      figure({ key: "cpu_pct_max", column: "cpu_pct", statistic: "max" }),
      figure({ key: "cpu_s_total", column: "cpu_s", statistic: "total" }),
      share,
    ],
    states: { state: [{ key: "io", name: "", columns: ["io_wait_pct"], waits: true }] },
  } as unknown as Subject;

  it("ask once for everything", () => {
    const asked = question(subject, { basis: "sample" });
    expect(asked.columns).toEqual({
      cpu_s: ["total"],
      cpu_pct: ["mean", "max"],
      share_kind: ["last"],
      share: ["last"],
      limit_kind: ["last"],
      share_limit: ["last"],
      io_wait_pct: ["mean"],
    });
    expect(asked.course).toEqual({ column: "cpu_pct", statistic: "max", buckets: BUCKETS });
    expect([asked.by, asked.where]).toEqual([["userid"], { basis: "sample" }]);
  });

  it("are answered by name; texts leave out what is not known", () => {
    const columns = ["cpu_pct_mean", "share_kind_last", "share_last", "limit_kind_last", "share_limit_last"];
    const [first, second, third] = rowsOf(
      answered(columns, [
        [1.5, "relative", 100, null, null],
        [null, "absolute", 1 / 3, "soft", 50],
        [null, null, null, null, null],
      ]),
    );
    expect(figureOf(subject.figure[0]!, first!)).toBe(1.5);
    expect(figureOf(subject.figure[1]!, first!)).toBeNull();
    expect(figureOf(share, first!)).toBe("relative 100");
    expect(figureOf(share, second!)).toBe("absolute 0.333333, soft limit 50");
    expect(figureOf(share, third!)).toBeNull();
    expect(columnsOf(share.pieces)).toEqual(["share_kind", "share", "limit_kind", "share_limit"]);
    expect(textOf(["vCPU {vcpu}"], () => 0)).toBe("vCPU 0");
  });

  it("show what a system has", () => {
    const job = { ...subject, table: "job", sources: ["smf", "rmf-xml"] };
    const tables = (sources: string[], fills: (name: string) => boolean) =>
      present(
        [subject, job],
        sources.map((source) => ({ source })),
        fills,
      ).map((one) => one.table);
    expect(tables(["zvm-monitor"], () => true)).toEqual(["guest"]);
    expect(tables(["smf", "rmf-xml"], () => true)).toEqual(["job"]);
    expect(tables(["smf"], (name) => name !== "job")).toEqual([]);
    expect(tables(["linux"], () => true)).toEqual([]);
  });
});
