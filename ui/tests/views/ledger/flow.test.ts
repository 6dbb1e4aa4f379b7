import { describe as suite, expect, it } from "vitest";
import type { LedgerRow } from "../../../src/lib/api/types";
import { describe, nameOf, place, roots } from "../../../src/views/ledger/flow";

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
