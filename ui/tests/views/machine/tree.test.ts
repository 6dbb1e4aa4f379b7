import { describe, expect, it } from "vitest";
import {
  rowsByMoment,
  nearest,
  next,
  placed,
  stops,
  describe as describeNode,
  tree,
  pathTo,
  type Moment,
  type Node,
} from "../../../src/views/machine/tree";

const cpu = (id: number, core: number, parked = 0) => ({
  cpu_id: id,
  core_id: core,
  thread_id: id % 2,
  cpu_type: "IFL",
  polarity: core ? "Vl" : "Vh",
  entitlement_pct: core ? 0 : 100,
  parked_pct: parked,
  busy_pct: 40,
});

const MOMENT: Moment = {
  cec: [{ cpu_type: "IFL", physical: 12, seconds: 60, total_s: 120, management_s: 1, lpmgt_pct: 1.5 }],
  partition: [
    { partition: "OTHER", cpu_type: "IFL", entitlement: 8, logical_cpus: 9, total_s: 70, total_pct: 12 },
    {
      partition: "OWN",
      cpu_type: "IFL",
      entitlement: 4,
      logical_cpus: 2,
      total_s: 49,
      total_pct: 40,
      vh: 1,
      vl: 1,
    },
  ],
  core: [
    { core_id: 0, cpu_type: "IFL", polarity: "Vh", entitlement_pct: 100, core_busy_pct: 60, parked_pct: 0 },
    { core_id: 1, cpu_type: "IFL", polarity: "Vl", entitlement_pct: 0, core_busy_pct: null, parked_pct: 100 },
  ],
  cpu: [cpu(0, 0), cpu(1, 0), cpu(2, 1, 100), cpu(3, 1, 100)],
  guest: [
    { userid: "B", cpu_pct: 40, share_kind: "relative", share: 100, running_pct: 30 },
    { userid: "A", cpu_pct: 60, share_kind: "absolute", share: 5, running_pct: null },
    { userid: "IDLE", cpu_pct: 0.01 },
  ],
};

const ABOUT = { machine: "8561-X", system: "OWN", partitions: ["OWN"] };

const ids = (node: Node): string[] => [node.id, ...node.children.flatMap(ids)];

const at = (root: Node, id: string): Node => pathTo(root, id).at(-1)!;

describe("the machine", () => {
  const root = tree(MOMENT, ABOUT, "share");

  it("contains partitions, own cores and guests", () => {
    expect(ids(root)).toEqual([
      "",
      "IFL",
      "IFL/OTHER",
      "IFL/OWN",
      "IFL/OWN/cores",
      "IFL/OWN/cores/0",
      "IFL/OWN/cores/0/0",
      "IFL/OWN/cores/0/1",
      "IFL/OWN/cores/1",
      "IFL/OWN/cores/1/2",
      "IFL/OWN/cores/1/3",
      "IFL/OWN/guests",
      "IFL/OWN/guests/A",
      "IFL/OWN/guests/B",
      "IFL/OWN/guests/*",
    ]);
    expect(at(root, "IFL/OWN").word).toBe("entitled to 4 of 2 · 1 Vh 1 Vl · busy 40%");
  });

  it("is sized by entitlement, including zero", () => {
    expect(root.children[0]!.children.map((one) => one.weight)).toEqual([8, 4]);
    expect(at(root, "IFL/OWN/cores/1").weight).toBeGreaterThan(0);
  });

  it("is sized by CPU time, with PR/SM and idle time", () => {
    const timed = tree(MOMENT, ABOUT, "time").children[0]!;
    expect(timed.children.map((one) => [one.kind, one.weight])).toEqual([
      ["partition", 70],
      ["partition", 49],
      ["management", 1],
      ["unused", 12 * 60 - 120],
    ]);
  });

  it("shows unknown values as unknown", () => {
    expect(at(root, "IFL/OWN/cores/1").busy).toBeNull();
    expect(at(root, "IFL/OWN/cores/1").parked).toBe(true);
    expect(at(root, "IFL/OWN/cores/1/2").busy).toBeNull();
    expect(at(root, "IFL/OWN/guests/A").busy).toBeNull();
  });

  it("is only the system without partition data", () => {
    const alone = tree({ ...MOMENT, cec: [], partition: [] }, ABOUT, "share");
    expect(alone.name).toBe("OWN");
    expect(alone.children.map((one) => one.kind)).toEqual(["cores", "guests"]);
  });

  it("has processors without cores if no core has two threads", () => {
    const single = tree({ ...MOMENT, core: [], cpu: [cpu(7, 0), cpu(5, 1)] }, ABOUT, "share");
    expect(at(single, "IFL/OWN/cores").children.map((one) => one.name)).toEqual(["CPU 5", "CPU 7"]);
  });

  it("shows every figure with its unit", () => {
    const lines = describeNode(at(root, "IFL/OWN"), (_, column) => (column === "total_s" ? "s" : null));
    expect(lines).toContain("Total time: 49 s");
    expect(lines[0]).toBe("OWN · entitled to 4 of 2 · 1 Vh 1 Vl · busy 40%");
  });
});

describe("navigation in it", () => {
  const root = tree(MOMENT, ABOUT, "share");

  it("goes one level down at a click", () => {
    const thread = at(root, "IFL/OWN/cores/0/1");
    const partition = next(root, root, thread)!;
    expect(partition.id).toBe("IFL/OWN");
    const core = next(root, partition, thread)!;
    expect(core.id).toBe("IFL/OWN/cores/0");
    expect(next(root, core, thread)).toBeNull();
    expect(next(root, root, at(root, "IFL/OTHER"))).toBeNull();
  });

  it("goes back", () => {
    expect(stops(pathTo(root, "IFL/OWN/cores/0")).map((one) => one.id)).toEqual([
      "",
      "IFL/OWN",
      "IFL/OWN/cores/0",
    ]);
    expect(pathTo(root, "IFL/GONE").at(-1)!.id).toBe("IFL");
    expect(pathTo(root, null)).toEqual([root]);
  });

  it("draws the levels that fit", () => {
    const large = placed(root, { x: 0, y: 0, width: 1200, height: 500 });
    expect(large.map((one) => one.node.id)).toContain("IFL/OWN/cores/0/1");
    const small = placed(root, { x: 0, y: 0, width: 60, height: 60 });
    expect(small.map((one) => one.node.kind)).not.toContain("thread");
    for (const { box } of large) {
      expect(box.x + box.width).toBeLessThanOrEqual(1200);
      expect(box.y + box.height).toBeLessThanOrEqual(500);
    }
  });
});

describe("intervals", () => {
  it("are found in time order", () => {
    expect(nearest([60, 120, 180], null)).toBe(2);
    expect(nearest([60, 120, 180], 120)).toBe(1);
    expect(nearest([60, 120, 180], 10)).toBe(0);
    expect(nearest([60, 120, 180], 150)).toBe(1);
  });

  it("include rows that end slightly earlier or later", () => {
    const rows = rowsByMoment([{ t: 60.2 }, { t: 119 }, { t: 400 }, { t: null }], [60, 120], 60);
    expect(rows.get(0)).toHaveLength(1);
    expect(rows.get(1)).toHaveLength(1);
    expect(rows.size).toBe(2);
  });

  it("use the last row of a system with shorter intervals", () => {
    const rows = rowsByMoment(
      [{ t: 780 }, { t: 840 }, { t: 900 }, { t: 900.2 }, { t: 960 }],
      [900, 1800],
      900,
    );
    expect(rows.get(0)!.map((row) => row["t"])).toEqual([900, 900.2]);
    expect(rows.has(1)).toBe(false);
  });
});
