/** The origin of the data in a saved picture or view. */

import { session } from "./session.svelte";
import { dateTime } from "../time/format";

/** System, window, inputs and sources, and whether the data are synthetic. */
export function provenance([from, to] = session.window): string[] {
  const { schema, sources, system, offset, zone } = session;
  const inputs = (schema?.inputs ?? []).map((input) => input.name).join(", ");
  const kinds = [...new Set(sources.map((source) => source.source))].join(", ");
  return [
    `${system}, ${dateTime(from, offset)} to ${dateTime(to, offset)} (${zone})`,
    `${inputs} (${kinds}); zlens ${schema?.version}`,
    ...(schema?.synthetic ? ["Synthetic data, written by zlens; nothing in it was measured."] : []),
  ];
}
