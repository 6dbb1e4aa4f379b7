/** Decisions of HiperDispatch over time, and the changes among them as marks. */

import type { AggregateResult } from "../../lib/api/measures";
import type { Cell } from "../../lib/api/values";
import { category } from "../../lib/paint/palette";
import type { StackedSeries } from "../../lib/paint/stack";
import { columnLabel, sentence } from "../../lib/text/names";
import { seconds } from "../../lib/time/format";
import type { Mark } from "../../lib/time/mark";

/** Columns of decisions that are counted. */
export const DECISIONS = ["unparks", "parks", "refused"] as const;

/** Counts of decisions for processors of a type, interval by interval. */
export function decisionLayers(answer: AggregateResult, type: Cell): StackedSeries {
  const types = answer.column("cpu_type");
  const own = <T>(values: T[]): T[] => values.filter((_, at) => types[at] === type);
  return {
    t: own(answer.numbers("t")).map((t) => t ?? 0),
    seconds: own(answer.lengths()),
    unit: "decisions",
    layers: DECISIONS.map((name, at) => ({
      name: columnLabel(name),
      color: category(at),
      value: own(answer.numbers(`${name}_total`)),
    })),
  };
}

/** Decisions to park or unpark processors of a type; tooltips have their reasons, which would overlap. */
export function decisionMarks({ rows }: { rows: Cell[][] }, type: Cell): Mark[] {
  return rows.flatMap(([end, cpu_type, request, reason]) => {
    const t = seconds(String(end));
    if (t === null || cpu_type !== type) return [];
    const label = sentence([request, reason].filter(Boolean).join(": "));
    return [{ t, label, short: "", color: "faint" }];
  });
}
