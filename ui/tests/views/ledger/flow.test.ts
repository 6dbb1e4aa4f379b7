import { describe as suite, expect, it } from "vitest";
import type { LedgerRow } from "../../../src/lib/api/types";
import { describe, nameOf, pictured, place, roots } from "../../../src/views/ledger/flow";

const row = (depth: number, subject: string, amount: number | null): LedgerRow => ({
  depth,
  subject,
  amount,
  level: "system",
  account: "guests",
  title: "Guests",
  text: "CPU time of a guest",
  cpu_type: "IFL",
  status: "measured",
  meter: null,
  transactions: null,
  per_transaction: null,
  node: null,
});

const ROWS = [
  row(0, "machine", 100),
  row(1, "A", 60),
  row(2, "A1", 50),
  row(2, "A2", 10),
  row(1, "B", 40),
  row(2, "B1", 40),
  row(0, "other", 8),
];

suite("the flow picture of a ledger", () => {
  it("places each row next to what it is a part of", () => {
    const [machine, other] = roots(ROWS);
    expect(place(machine!).map(({ row, column, from, to }) => [row.subject, column, from, to])).toEqual([
      ["machine", 0, 0, 100],
      ["A", 1, 0, 60],
      ["A1", 2, 0, 50],
      ["A2", 2, 50, 60],
      ["B", 1, 60, 100],
      ["B1", 2, 60, 100],
    ]);
    expect(other!.map(({ subject }) => subject)).toEqual(["other"]);
  });

  it("leaves out negative and unknown amounts with their parts", () => {
    const rows = [
      row(0, "machine", 10),
      row(1, "meters", -1),
      row(1, "A", null),
      row(2, "A1", 3),
      row(1, "B", 4),
    ];
    expect(place(rows).map(({ row }) => row.subject)).toEqual(["machine", "B"]);
  });

  it("puts parts of more than their whole in its place", () => {
    const rows = [
      row(0, "machine", 10),
      row(1, "A", 6),
      row(2, "A1", 8),
      row(2, "A2", 4),
      row(1, "B", 4),
      row(2, "B1", 4),
    ];
    expect(place(rows).map(({ row, from, to }) => [row.subject, from, to])).toEqual([
      ["machine", 0, 10],
      ["A", 0, 6],
      ["A1", 0, 4],
      ["A2", 4, 6],
      ["B", 6, 10],
      ["B1", 6, 10],
    ]);
  });

  it("has no picture of a root whose amount is unknown", () => {
    const shown = pictured([row(0, "machine", null), row(1, "A", 6), row(0, "other", 8)]);
    expect(shown.map(([root]) => root!.subject)).toEqual(["other"]);
  });

  it("names the type of a machine's processors and the share of an amount", () => {
    expect(nameOf(ROWS[0]!)).toBe("machine IFL");
    expect(nameOf(ROWS[1]!)).toBe("A");
    expect(describe({ ...ROWS[1]!, per_transaction: 2 }, 100, "s")).toEqual([
      "A: Guests",
      "60\u00a0s, 60%, measured",
      "CPU time of a guest",
      "2\u00a0s per transaction",
    ]);
  });
});
