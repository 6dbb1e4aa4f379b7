/** The open inputs: the schema, loaded once, and values derived from it for the selected system. */

import { SvelteMap } from "svelte/reactivity";
import { anyWithin, expandRuns, neighbor, snapWindow } from "../time/intervals";
import { momentOf, seconds, zone } from "../time/format";
import { api, ApiError } from "./api";
import { createQuery, type Query } from "./query.svelte";
import type { ColumnInfo, ModelInfo, ReportInfo, Schema, SchemaPart, SystemInfo, TableInfo } from "./types";
import { present, type ConsumerKind } from "./subject";
import { liveFeed } from "../page/liveFeed.svelte";
import { route } from "../page/route.svelte";

/** Intervals after which the schema is loaded again. */
const RELOAD = 30;

/** What a view needs of the schema, besides the systems. */
export interface Needs {
  /** The measures whose columns it shows. */
  tables?: string[] | "all";
  parts?: OptionalPart[];
}
type OptionalPart = "reports" | "models";

class Session {
  schema = $state.raw<Schema | null>(null);
  error = $state.raw<ApiError | null>(null);
  /** All tables, reports and models, once a view needed them. */
  all = $state.raw<TableInfo[] | null>(null);
  reports = $state.raw<ReportInfo[] | null>(null);
  models = $state.raw<ModelInfo[] | null>(null);
  /** The tables loaded so far: all, or those that views needed. */
  readonly tables = new SvelteMap<string, TableInfo>();
  /** What was requested. */
  #all = false;
  #names = new Set<string>();
  #parts = new Set<OptionalPart>();
  // Derived separately, so that an address that starts to name the same system repeats no request.
  #system = $derived(this.#called(route.system));

  // With their system: during a repeated request, the last result remains valid.
  #ends: Query<{ system: string; ends: number[] }> | null = $state.raw(null);
  #cores: Query<{ system: string; any: boolean }> | null = $state.raw(null);

  /** Called once, by a component that lives as long as the web UI. */
  begin(): void {
    this.#ends = createQuery((signal) => {
      const system = this.system;
      if (!this.schema || !system) return null;
      return api.intervals(system, signal).then((answer) => ({ system, ends: expandRuns(answer.runs) }));
    });
    this.#cores = createQuery((signal) => {
      if (!this.fills("core")) return null;
      const system = this.system;
      const question = { table: "core", columns: ["core_id"], ...this.shown, limit: 1 };
      // A system with processors of its own has their view anyway, so this request is not urgent.
      const first = this.fills("cpu") ? api.quiet(signal) : Promise.resolve();
      return first
        .then(() => api.rows(question, signal))
        .then((answer) => ({ system, any: answer.rows.length > 0 }));
    });
    route.snap = (window) => snapWindow(this.ends, this.span[0], window);
    // Users type and share addresses: the window shown is the window in the address.
    route.settle = ([from, to], system) => {
      const window: [number, number] = [from ?? this.span[0], to ?? this.span[1]];
      const whole = from === null && to === null;
      if (whole || this.#called(system) !== this.system || !anyWithin(this.ends, window)) return [from, to];
      const [first, last] = route.snap(window).map(Math.round);
      return [from === null ? null : first!, to === null ? null : last!];
    };
    // Users type and share addresses: with dates, with ends in any order, and between intervals.
    $effect(() => {
      if (!this.schema) return;
      const typed = new Map(
        ["from", "to"].flatMap((key) => {
          const text = route.get(key);
          const at = text === null || route.given(key) ? null : momentOf(text, this.offset);
          return at === null ? [] : [[key, at] as const];
        }),
      );
      if (typed.size) route.set(Object.fromEntries(typed));
      else if (route.from !== null && route.to !== null && route.from > route.to)
        route.set({ from: route.to, to: route.from });
    });
    // Runs when the ends are loaded.
    $effect(() => {
      const [from, to] = route.settle([route.from, route.to], route.system);
      if (from !== route.from || to !== route.to) route.set({ from, to });
    });
  }

  /** The system that an address names, or the first one. */
  #called(name: string | null): string {
    if (name !== null && this.systems.some((system) => system.system === name)) return name;
    return this.systems[0]?.system ?? "";
  }

  /** Ends of the system's intervals in seconds UTC, rounded up; empty until they are loaded. */
  get ends(): number[] {
    return this.#known(this.#ends)?.ends ?? [];
  }

  /** Whether the selected window contains no interval end, and so no data. */
  get empty(): boolean {
    const whole = route.from === null && route.to === null;
    return !whole && this.ends.length > 0 && !anyWithin(this.ends, this.window);
  }

  /** Whether the edges of the selected window are known, and whether it is empty. */
  get placed(): boolean {
    return (route.from === null && route.to === null) || !this.#ends?.busy || !!this.#known(this.#ends);
  }

  /** The window of the next interval after the selected window, or of the last one. */
  get next(): [number, number] | null {
    return neighbor(this.ends, this.span[0], this.window);
  }

  /** Whether there are rows of cores, which require multithreading; false until this is known. */
  get cores(): boolean {
    return this.fills("core") && (this.#known(this.#cores)?.any ?? false);
  }

  /** Whether the views of the selected system are known. */
  get settled(): boolean {
    return this.schema !== null && (this.fills("cpu") || !this.#cores?.busy || !!this.#known(this.#cores));
  }

  /** Whether the selected system has times. */
  get timed(): boolean {
    return this.sources.some((source) => source.start !== null);
  }

  /** Returns a result if it belongs to the selected system. */
  #known<T extends { system: string }>(asked: Query<T> | null): T | null {
    return asked?.value?.system === this.system ? asked.value : null;
  }

  /** Updates the systems of live data. */
  #renew(systems: SystemInfo[], revision: number): void {
    const key = (info: SystemInfo): string => JSON.stringify([info.system, info.source]);
    const known = new Map(this.systems.map((info) => [key(info), info]));
    const all = systems.length === known.size && systems.every((info) => known.has(key(info)));
    // New records may provide more measures.
    if (!this.schema || !all || revision % RELOAD === 0) void this.load();
    else {
      const renewed = systems.map((info) => ({ ...known.get(key(info))!, ...info }));
      this.schema = { ...this.schema, systems: renewed };
    }
  }

  /** Requests what a view needs and has not been requested; the first time with the systems. */
  provide({ tables = [], parts = [] }: Needs): void {
    const all = tables === "all" && !this.#all;
    const names = tables === "all" || this.#all ? [] : tables.filter((name) => !this.#names.has(name));
    const more = parts.filter((part) => !this.#parts.has(part));
    this.#all ||= all;
    for (const name of names) this.#names.add(name);
    for (const part of more) this.#parts.add(part);
    if (this.schema && (all || names.length || more.length)) void this.#request(more, all ? null : names);
  }

  /** Whether everything that a view needs has been loaded. */
  provides({ tables = [], parts = [] }: Needs): boolean {
    return (
      this.schema !== null &&
      parts.every((part) => this[part] !== null) &&
      (tables === "all" ? this.all !== null : tables.every((name) => this.tables.has(name)))
    );
  }

  /** Loads the systems and everything else that was requested. */
  load(): Promise<void> {
    return this.#request(["systems", ...this.#parts], this.#all ? null : [...this.#names]);
  }

  /** Requests parts of the schema, with these tables; null: with all. */
  async #request(parts: SchemaPart[], names: string[] | null): Promise<void> {
    try {
      const asked: SchemaPart[] = names?.length === 0 ? parts : [...parts, "tables"];
      const { tables, reports, models, ...schema } = await api.schema(asked, names);
      for (const table of tables ?? []) this.tables.set(table.name, table);
      if (names === null) this.all = tables ?? [];
      this.reports = reports ?? this.reports;
      this.models = models ?? this.models;
      this.error = null;
      if (!parts.includes("systems")) return;
      this.schema = schema as Schema;
      if (this.schema.live) liveFeed.begin<SystemInfo>((systems, revision) => this.#renew(systems, revision));
    } catch (error) {
      this.error = error instanceof ApiError ? error : new ApiError(String(error));
    }
  }

  get systems(): SystemInfo[] {
    return this.schema?.systems ?? [];
  }

  /** The sources of the selected system, or of the first one. */
  get sources(): SystemInfo[] {
    const name = this.system;
    return this.systems.filter((system) => system.system === name);
  }

  /** The selected system. */
  get system(): string {
    return this.#system;
  }

  /** The source in the address, if it describes the selected system; null for the first source. */
  get source(): string | null {
    return this.sources.some(({ source }) => source === route.source) ? route.source : null;
  }

  /** The selected system as described by the selected source. */
  get selected(): SystemInfo | undefined {
    return this.sources.find(({ source }) => source === this.source) ?? this.sources[0];
  }

  /** The parameters of requests about the selected system. */
  get shown(): { system: string; source: string | null } {
    return { system: this.system, source: this.source };
  }

  /** Whether shown times are local to an unknown zone, so that those of other sources are not comparable. */
  get #local(): boolean {
    return this.selected?.local_time ?? false;
  }

  /** Start and end of the system, in seconds UTC, by sources with comparable times. */
  get span(): [number, number] {
    const sources = this.sources.filter((info) => info.local_time === this.#local);
    const starts = sources.map((start) => seconds(start.start)).filter((start) => start !== null);
    const ends = sources.map((end) => seconds(end.end)).filter((end) => end !== null);
    return [starts.length ? Math.min(...starts) : 0, ends.length ? Math.max(...ends) : 1];
  }

  /** The selected window, in seconds UTC. */
  get window(): [number, number] {
    const [first, last] = this.span;
    return [route.from ?? first, route.to ?? last];
  }

  /** The system's UTC offset in seconds, east positive. */
  get offset(): number {
    return this.#local ? 0 : this.offsetOf(this.system);
  }

  /** The UTC offset of a system in seconds, east positive. */
  offsetOf(system: string): number {
    const of = this.systems.filter((info) => info.system === system);
    return of.find((source) => source.utc_offset_s !== null)?.utc_offset_s ?? 0;
  }

  /** The time zone of the system's times; notes if inputs have only local times, or times without dates. */
  get zone(): string {
    const known = this.#local ? "local time, time zone unknown" : zone(this.offset);
    return this.sources.some((source) => !source.dated) ? `${known}, date not known` : known;
  }

  /** The kinds of subjects the selected system has. */
  get subjects(): ConsumerKind[] {
    return present(this.schema?.subjects ?? [], this.sources, (table) => this.fills(table));
  }

  /** A measure; one that no view has named is requested, and known when it has been loaded. */
  table(name: string): TableInfo | undefined {
    const found = this.tables.get(name);
    if (!found) this.provide({ tables: [name] });
    return found;
  }

  column(table: string, name: string): ColumnInfo | undefined {
    return this.table(table)?.columns.find((column) => column.name === name);
  }

  /** The records that provide the rows of a measure, in words. */
  records(table: string): string {
    return this.table(table)?.records ?? "";
  }

  /** Whether the selected system has data for one of these measures. */
  fills(...tables: string[]): boolean {
    return this.fillsOf(this.system, ...tables);
  }

  /** Whether a system has data for one of these measures. */
  fillsOf(system: string, ...tables: string[]): boolean {
    return this.systems.some(
      (info) => info.system === system && tables.some((name) => info.fills.includes(name)),
    );
  }
}

export const session = new Session();
