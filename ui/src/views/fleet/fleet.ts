/** Spans and groups of the fleet, and machines over time. */

import type { FleetSystem, MachineHours } from "../../lib/api/types";
import type { Trace } from "../../lib/paint/lines";
import { category, colorsOf } from "../../lib/paint/palette";
import type { StackedSeries, Layer } from "../../lib/paint/stack";
import { plural } from "../../lib/text/numbers";

/** Number of partitions with a color of their own; all others are one layer. */
const LAYERS = 9;
const OTHERS = "#8a8f98";
export const HOUR = 3600;
/** Maximum number of systems drawn over time. */
export const LINES = 8;
const DAY = 24 * HOUR;

/** The time ranges: everything, or the last days of the system that ends last. */
export const SPANS: readonly { key: string; title: string; days: number | null }[] = [
  { key: "", title: "Whole recording", days: null },
  { key: "1", title: "Last day", days: 1 },
  { key: "7", title: "Last 7 days", days: 7 },
  { key: "30", title: "Last 30 days", days: 30 },
];

/**
 * Returns the parameters of a span up to the end of the hour of `end`, in seconds, and of the previous
 * span of the same length.
 */
export function spanOf(key: string, end: number): Record<string, number> {
  const last = Math.ceil(end / HOUR) * HOUR;
  const days = SPANS.find((span) => span.key === key)?.days ?? null;
  if (days === null) return {};
  const from = last - days * DAY;
  return { from, to: last, base_from: from - days * DAY, base_to: from };
}

/** The busiest systems over the hours that end at `t`, each with its known hours only. */
export function busiestLines(systems: readonly FleetSystem[], t: readonly number[]): Trace[] {
  const known = systems.filter(({ series }) => series.some((value) => value !== null));
  const busiest = known.sort((a, b) => (b.mean ?? -1) - (a.mean ?? -1)).slice(0, LINES);
  const colors = colorsOf(
    "system",
    busiest.map(({ system }) => system),
  );
  return busiest.map(({ system, series }) => {
    const hours = t.flatMap((end, at) => ((series[at] ?? null) === null ? [] : [{ end, at }]));
    return {
      name: system,
      color: colors.get(system)!,
      t: hours.map(({ end }) => end),
      value: hours.map(({ at }) => series[at]!),
      low: null,
      high: null,
    };
  });
}

/** The keys by which systems may be grouped. */
export const GROUPS = ["machine", "sysplex", "cluster", "release"] as const;
export type GroupKey = (typeof GROUPS)[number];

export interface FleetGroup {
  name: string | null;
  systems: FleetSystem[];
}

/** Groups systems by the value of a key, in the order of the values; systems without a value are last. */
export function groupsOf(systems: readonly FleetSystem[], by: GroupKey | null): FleetGroup[] {
  if (by === null) return systems.length ? [{ name: null, systems: [...systems] }] : [];
  const groups = new Map<string | null, FleetSystem[]>();
  for (const system of systems) {
    const name = system[by];
    const group = groups.get(name);
    if (group) group.push(system);
    else groups.set(name, [system]);
  }
  return [...groups]
    .map(([name, systems]) => ({ name, systems }))
    .sort((a, b) => {
      if (a.name === null || b.name === null) return a.name === null ? 1 : -1;
      return a.name < b.name ? -1 : 1;
    });
}

/** Whether the names of a system contain all words. */
export function named(system: FleetSystem, words: string): boolean {
  const text = [system.system, system.source, ...GROUPS.map((key) => system[key] ?? "")]
    .join(" ")
    .toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Stacks the partitions of a machine over time, for each processor type; the largest have names. */
export function stacks(answer: MachineHours): { type: string; course: StackedSeries }[] {
  const types = [...new Set(answer.partitions.map((one) => one.cpu_type))].sort();
  return types.map((type) => {
    const own = answer.partitions
      .filter((one) => one.cpu_type === type)
      .sort((a, b) => (b.mean ?? -1) - (a.mean ?? -1));
    const named = own.length > LAYERS + 1 ? own.slice(0, LAYERS) : own;
    const others = own.slice(named.length);
    const layers = named.map(({ partition, series }, at): Layer => ({
      name: partition,
      color: category(at),
      value: series,
    }));
    if (others.length) {
      const value = answer.t.map((_, at) => {
        const known = others.flatMap(({ series }) => series[at] ?? []);
        return known.length ? known.reduce((sum, one) => sum + one, 0) : null;
      });
      layers.push({ name: plural(others.length, "other partition"), color: OTHERS, value });
    }
    return { type, course: { t: answer.t, seconds: answer.t.map(() => HOUR), layers, unit: answer.unit } };
  });
}
