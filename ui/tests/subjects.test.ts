import { describe, expect, it } from "vitest";
import { matching } from "../src/lib/names";
import { OWNERS } from "../src/lib/ownerQuestions";
import { depth, ownerAt, ownerRows, pathOf, pathText, tree } from "../src/lib/owners";
import { kindsOf } from "../src/lib/subjectKinds";
import { bridged, BUCKETS, course, GUEST, JOB, question, step, WORKLOAD } from "../src/lib/subjects";
import { parts, sampled, shareOf, STATES, STATE_COLUMNS, told, waitsAt } from "../src/lib/waits";

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

  it("asks of processors only where they are told of", () => {
    const how = OWNERS.guest;
    const with_ = how.question(how.groups[0]!.sql, "cpu_s", "true", true);
    const without = how.question(how.groups[0]!.sql, "cpu_s", "true", false);
    expect(Object.keys(with_.keep)).toEqual(["guest", "guest_cpu"]);
    expect(Object.keys(without.keep)).toEqual(["guest"]);
    expect(with_.plain).not.toContain("{");
  });
});

describe("states", () => {
  const shares = { running_pct: 40, cpu_wait_pct: 10, page_wait_pct: 5, loading_pct: 5, dormant_pct: 40 };

  it("stacks to the whole", () => {
    expect(parts(shares).map((part) => [part.state.key, part.from, part.to])).toEqual([
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

  it("has every state of a guest once", () => {
    expect(new Set(STATE_COLUMNS).size).toBe(STATE_COLUMNS.length);
  });

  it("finds the stretch under the pointer", () => {
    const stretches = [{ from: 0, t: 60, shares }];
    expect(waitsAt(stretches, [0, 120], 0, 100, 400)?.lines[1]).toBe("running: 40 %");
    expect(waitsAt(stretches, [0, 120], 0, 380, 400)).toBeNull();
    expect(waitsAt(stretches, [0, 120], 0, 10, 400)).toBeNull();
  });
});

describe("courses", () => {
  it("reads buckets", () => {
    const values = course("0:1.5,59:2");
    expect(values).toHaveLength(BUCKETS);
    expect([values[0], values[1], values[59]]).toEqual([1.5, null, 2]);
    expect(course(null).every((one) => one === null)).toBe(true);
  });

  it("goes over buckets between two intervals, not over a gap", () => {
    expect(bridged([1, null, 3, null, null, null, 4], 2)).toEqual([1, 2, 3, null, null, null, 4]);
  });

  it("knows how far intervals are apart", () => {
    expect(step([course("14:1,29:1,44:1,59:1"), course("14:1")])).toBe(24);
    expect(step([course("1:1,2:1,3:1,9:1")])).toBe(2);
    expect(step([])).toBe(1);
  });
});

describe("questions", () => {
  it.each([GUEST, WORKLOAD, JOB])("asks of $table once for everything", (subject) => {
    const sql = question(subject, "system = 'A'", [0, 3600]);
    expect(sql.match(new RegExp(`\\{${subject.table}\\}`, "g"))).toHaveLength(1);
    const keys = subject.figures.map((one) => one.key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("shows what a system has", () => {
    const fills = (name: string): boolean => name !== "job";
    expect(kindsOf([{ source: "zvm-monitor" }], fills)).toEqual(["guest"]);
    expect(kindsOf([{ source: "smf" }, { source: "rmf-xml" }], fills)).toEqual(["workload"]);
    expect(kindsOf([{ source: "linux" }], fills)).toEqual([]);
  });
});
