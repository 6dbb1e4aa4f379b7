/** Events that are marked in charts of processors. */

import { session } from "../../lib/api/session.svelte";
import type { Mark } from "../../lib/time/mark";
import { annotations, describe } from "../../lib/api/annotations.svelte";

/** More frequent events of a kind are not marked, because they would hide the lines. */
const OFTEN = 12;
const OF_PROCESSORS = /park|smt|multithread|vary|srm|capab|processor|cpu|core|share|pool/i;

export function rare(): Mark[] {
  const [from, to] = session.window;
  const inside = annotations.events.filter(
    (event) =>
      event.t >= from && event.t <= to && OF_PROCESSORS.test(event.kind) && !/device|logo/i.test(event.kind),
  );
  const counts = new Map<string, number>();
  for (const event of inside) counts.set(event.kind, (counts.get(event.kind) ?? 0) + 1);
  return inside
    .filter((event) => counts.get(event.kind)! <= OFTEN)
    .map((event) => ({ t: event.t, label: describe(event), color: "faint" }));
}
