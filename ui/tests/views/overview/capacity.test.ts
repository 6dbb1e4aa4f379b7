import { describe, expect, it } from "vitest";
import { withColumns } from "../../../src/lib/api/measures";
import { kinds, questions, stackOf, SHOWN } from "../../../src/views/overview/capacity";

const result = (columns: string[], rows: (string | number | null)[][]) =>
  withColumns({ columns, rows, sql: "", more: false });
const [guests] = kinds((table) => ["guest", "capacity"].includes(table), []);

/** Four processors, then three; 0.2 of CP; A and B are shown of guests that used 1.5. */
const whole = result(
  ["t", "online_s_rate", "known_s_rate", "cp_s_rate", "unattributed_s_rate", "idle_s_rate"],
  [
    [60, 4, 1.5, 0.2, 1.3, 1],
    [120, 3, 1.5, 0.2, 1.3, 1e-15],
  ],
);
const subjects = result(
  ["userid", "t", "cpu_s_rate"],
  [
    ["A", 60, 1],
    ["B", 60, 0.25],
    ["A", 120, 1.5],
  ],
);

describe("the capacity chart", () => {
  it("stacks known guests, the rest of them, CP, what is not attributed, and idle", () => {
    const course = stackOf(guests!, whole, subjects)!;
    expect(course.limit!.value).toEqual([4, 3]);
    expect(course.layers.map(({ name, value, look }) => [name, value, look])).toEqual([
      ["A", [1, 1.5], undefined],
      ["B", [0.25, null], undefined],
      ["Other guests", [0.25, 0], undefined],
      ["CP", [0.2, 0.2], undefined],
      ["Not attributed", [1.3, 1.3], "hatched"],
      ["Idle", [1, 0], "faint"],
    ]);
    expect(course.unit).toBe("processors");
  });

  it("is empty if the capacity is unknown, and leaves unknown layers out", () => {
    expect(stackOf(guests!, result(["t", "online_s_rate"], [[60, null]]), subjects)).toBeNull();
    const online = result(["t", "online_s_rate"], [[60, 4]]);
    expect(stackOf(guests!, online, subjects)!.layers.map(({ name }) => name)).toEqual(["A", "B"]);
  });

  it("offers what an input has: guests, classes, and partitions by processor type", () => {
    const all = (): boolean => true;
    expect(kinds(all, ["CP", "IFL"]).map(({ id }) => id)).toEqual([
      "guests",
      "classes",
      "partitions-CP",
      "partitions-IFL",
    ]);
    expect(kinds(() => false, ["CP"])).toEqual([]);
    const asked = questions(kinds(all, ["CP", "IFL"])[3]!);
    expect(asked.whole.where).toEqual({ cpu_type: "IFL" });
    expect(asked.subjects).toMatchObject({ table: "partition", by: ["partition"], top: SHOWN });
    expect(questions(guests!).whole).toMatchObject({ table: "capacity", where: {} });
    expect(guests!.note).toContain("Not attributed: busy time without samples of guests");
    expect(kinds(all, ["IFL"])[2]!.note).not.toContain("Not attributed");
  });
});
