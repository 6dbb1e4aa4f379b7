/** Processor capacity over time: what used it, and what is left. */

import type { AggregateQuestion } from "../../lib/api/types";
import { LENGTHS, type AggregateResult } from "../../lib/api/measures";
import { colorsOf } from "../../lib/paint/palette";
import { remainder, type Layer, type StackedSeries } from "../../lib/paint/stack";
import { sentence } from "../../lib/text/names";

/** Subjects whose use of processors a chart stacks. All amounts are rates: seconds per second. */
export interface CapacityKind {
  id: string;
  /** Plural name of the subjects. */
  subjects: string;
  table: string;
  column: string;
  by: string;
  where: Record<string, string>;
  /** What the line and the layer "Not attributed" are. */
  note: string;
  whole: {
    table: string;
    capacity: string;
    /** The time of all subjects; null: all of them are known, so that nothing is left of it. */
    known: string | null;
    own: { column: string; name: string };
    unattributed: string | null;
  };
}

/** Further subjects would repeat colors. */
export const SHOWN = 7;

const SYSTEM = {
  table: "capacity",
  capacity: "online_s",
  known: "known_s",
  own: { column: "cp_s", name: "CP" },
  unattributed: "unattributed_s",
};
const ONLINE = "The line is the capacity: processors online.";
const KINDS: CapacityKind[] = [
  {
    id: "guests",
    subjects: "guests",
    table: "guest",
    column: "cpu_s",
    by: "userid",
    where: {},
    note: `${ONLINE} Not attributed: busy time without samples of guests; Ledger adds what Linux counts.`,
    whole: SYSTEM,
  },
  {
    id: "classes",
    subjects: "service classes",
    table: "workload",
    column: "used_s",
    by: "class",
    where: { class_kind: "service" },
    note: `${ONLINE} Not attributed: busy time that no service class accounts for.`,
    whole: SYSTEM,
  },
];

/** Partitions of a machine on processors of one type. */
const partitions = (type: string): CapacityKind => ({
  id: `partitions-${type}`,
  subjects: `partitions on ${type} processors`,
  table: "partition",
  column: "total_s",
  by: "partition",
  where: { cpu_type: type },
  note: "The line is the capacity: processors of the machine.",
  whole: {
    table: "cec",
    capacity: "physical_s",
    known: "partitions_s",
    own: { column: "management_s", name: "PR/SM" },
    unattributed: null,
  },
});

/** The kinds that an input has, by its measures and the processor types of its machine. */
export function kinds(fills: (table: string) => boolean, types: readonly string[]): CapacityKind[] {
  return [
    ...KINDS.filter((kind) => fills(kind.table) && fills(kind.whole.table)),
    ...(fills("partition") && fills("cec") ? types.map(partitions) : []),
  ];
}

type Question = Pick<AggregateQuestion, "table" | "columns" | "where" | "by" | "top">;

/** The requests for a kind: the whole over time, and its largest subjects. */
export function questions({ whole, ...kind }: CapacityKind): { whole: Question; subjects: Question } {
  const { capacity, known, own, unattributed } = whole;
  const columns = [capacity, known, own.column, unattributed, "idle_s"].filter((name) => name !== null);
  const machine = whole.table === "cec" ? kind.where : {};
  return {
    whole: {
      table: whole.table,
      columns: { ...Object.fromEntries(columns.map((name) => [name, ["rate"]])), ...LENGTHS },
      where: machine,
    },
    subjects: {
      table: kind.table,
      columns: { [kind.column]: ["rate"] },
      by: [kind.by],
      top: SHOWN,
      where: kind.where,
    },
  };
}

/** Amounts below are rounding errors of sums. */
const LEAST = 1e-6;
const exact = (amounts: (number | null)[]): (number | null)[] =>
  amounts.map((amount) => (amount !== null && Math.abs(amount) < LEAST ? 0 : amount));

const rate = (column: string): string => `${column}_rate`;

/** The stack of a kind; null if its whole is unknown throughout. */
export function stackOf(
  kind: CapacityKind,
  whole: AggregateResult,
  subjects: AggregateResult,
): StackedSeries | null {
  const t = whole.numbers("t").map((value) => value ?? 0);
  const { capacity, known, own, unattributed } = kind.whole;
  const limit = whole.numbers(rate(capacity));
  if (!limit.some((value) => value !== null)) return null;
  const values = new Map<string, Map<number, number | null>>();
  const [times, used] = [subjects.numbers("t"), subjects.numbers(rate(kind.column))];
  subjects.column(kind.by).forEach((name, at) => {
    const subject = String(name);
    const byTime = values.get(subject) ?? new Map<number, number | null>();
    values.set(subject, byTime.set(times[at]!, used[at]!));
  });
  const names = [...values.keys()];
  const colors = colorsOf(kind.by, names);
  const shown: Layer[] = names.map((name) => ({
    name,
    color: colors.get(name)!,
    value: t.map((time) => values.get(name)!.get(time) ?? null),
  }));
  const layer = (
    name: string,
    color: string,
    value: (number | null)[],
    more: Partial<Layer> = {},
  ): Layer[] =>
    value.some((amount) => amount !== null) ? [{ name, color, value: exact(value), ...more }] : [];
  const all = known === null ? [] : whole.numbers(rate(known));
  const others = remainder(all, shown);
  return {
    t,
    seconds: whole.lengths(),
    unit: "processors",
    limit: { name: "Capacity", value: limit },
    layers: [
      ...shown,
      ...(others.some((amount) => (amount ?? 0) > LEAST)
        ? layer(`Other ${kind.subjects.replace(/ on .*/, "")}`, "#b3bac2", others)
        : []),
      ...layer(own.name, "#4d4d4d", whole.numbers(rate(own.column))),
      ...(unattributed === null
        ? []
        : layer("Not attributed", "#66707b", whole.numbers(rate(unattributed)), { look: "hatched" })),
      ...layer("Idle", "#66707b", whole.numbers(rate("idle_s")), { look: "faint" }),
    ],
  };
}

export const optionText = (kind: CapacityKind): string => sentence(kind.subjects);
