import { describe, expect, it } from "vitest";
import { ownerPaths, ownersQuestion, partsQuestion } from "../../../src/views/guests/ownerQuestions";
import { depth, ownerAt, ownerRows, pathOf, pathText, tree } from "../../../src/views/guests/owners";
import { type Owners } from "../../../src/lib/api/subject";
import { answered } from "./answered";

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

  it("are summed, largest first; unassigned use stays with the guest", () => {
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

  it("follow the address as far as it exists", () => {
    expect(pathOf(pathText(["a/b", "CMS"]))).toEqual(["a/b", "CMS"]);
    expect(pathOf(null)).toEqual([]);
    expect(ownerAt(root, ["a/b", "GONE"]).name).toBe("a/b");
  });

  const how: Owners = {
    note: "",
    group: [{ key: "share", name: "share", pieces: ["{share_kind}", " {share}"], none: "share unknown" }],
    time: [{ column: "cpu_s", name: "raw", missing_note: "" }],
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

  it("are requested with their group columns", () => {
    const asked = ownersQuestion("guest", how, group, "cpu_s", { basis: "sample" });
    expect(asked.columns).toEqual({ cpu_s: ["total"], share_kind: ["last"], share: ["last"] });
    expect([asked.by, asked.where]).toEqual([["userid"], { basis: "sample" }]);
    const below = partsQuestion(how, part, "cpu_s", {});
    expect([below.table, below.by]).toEqual(["guest_cpu", ["userid", "vcpu"]]);
  });

  it("are grouped; rows without a total are omitted", () => {
    expect(ownerPaths(how, group, "cpu_s", whole, null)).toEqual([
      ["relative 100", "A", 10],
      ["share unknown", "B", 3],
    ]);
  });

  it("are divided into parts; the rest stays with the subject", () => {
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

  it("of two sources are shown next to each other", () => {
    const rows = [...whole.rows, ["S", "smf", "A", 9, "relative", 100]];
    const paths = ownerPaths(how, group, "cpu_s", answered(whole.columns, rows), null);
    expect(paths.map((path) => path[0])).toEqual(["zvm-monitor", "zvm-monitor", "smf"]);
  });
});
