/** Events worth a mark beside processors: those of a kind that did not happen all the time. */

import { session } from "../../lib/api/session.svelte";
import type { Mark } from "../../lib/time/mark";
import { notable, describe } from "../../lib/api/notable.svelte";

/** More of one kind in a window than this are a rhythm, and a mark on each hides the lines. */
const OFTEN = 12;
const OF_PROCESSORS = /park|smt|multithread|vary|srm|capab|processor|cpu|core|share|pool/i;

export function rare(): Mark[] {
  const [from, to] = session.window;
  const inside = notable.events.filter(
    (one) => one.t >= from && one.t <= to && OF_PROCESSORS.test(one.kind) && !/device|logo/i.test(one.kind),
  );
  const counts = new Map<string, number>();
  for (const one of inside) counts.set(one.kind, (counts.get(one.kind) ?? 0) + 1);
  return inside
    .filter((one) => counts.get(one.kind)! <= OFTEN)
    .map((one) => ({ t: one.t, label: describe(one), color: "faint" }));
}
