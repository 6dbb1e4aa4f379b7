/** The open inputs: the schema, loaded once, and what follows from it for the selected system. */

import { seconds, zone } from "../time/format";
import { api, ApiError } from "./api";
import type { ColumnInfo, Schema, SystemInfo, TableInfo } from "./answers";
import { present, type Subject } from "./subject";
import { place } from "../page/place.svelte";

class Session {
  schema = $state.raw<Schema | null>(null);
  error = $state.raw<ApiError | null>(null);
  // Derived separately, so that questions about the system are not repeated when the address starts to name
  // it.
  #system = $derived.by((): string => {
    const asked = place.system;
    if (asked !== null && this.systems.some((system) => system.system === asked)) return asked;
    return this.systems[0]?.system ?? "";
  });

  async load(): Promise<void> {
    try {
      this.schema = await api.schema();
      this.error = null;
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

  /** First and last moment of the system, in seconds UTC. */
  get span(): [number, number] {
    const starts = this.sources.map((start) => seconds(start.start)).filter((start) => start !== null);
    const ends = this.sources.map((end) => seconds(end.end)).filter((end) => end !== null);
    return [starts.length ? Math.min(...starts) : 0, ends.length ? Math.max(...ends) : 1];
  }

  /** The selected window, in seconds UTC. */
  get window(): [number, number] {
    const [first, last] = this.span;
    return [place.from ?? first, place.to ?? last];
  }

  /** The system's UTC offset in seconds, east positive. */
  get offset(): number {
    return this.offsetOf(this.system);
  }

  /** The UTC offset of a system in seconds, east positive. */
  offsetOf(system: string): number {
    const of = this.systems.filter((info) => info.system === system);
    return of.find((source) => source.utc_offset_s !== null)?.utc_offset_s ?? 0;
  }

  /** The time zone of the system's times; unknown for inputs with local times only. */
  get zone(): string {
    return this.sources.some((source) => source.local_time)
      ? "local time of an unknown zone"
      : zone(this.offset);
  }

  /** The kinds of subjects the selected system has. */
  get subjects(): Subject[] {
    return present(this.schema?.subjects ?? [], this.sources, (table) => this.fills(table));
  }

  table(name: string): TableInfo | undefined {
    return this.schema?.tables.find((table) => table.name === name);
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
    return tables.some((name) => this.sources.some((source) => source.fills.includes(name)));
  }
}

export const session = new Session();
