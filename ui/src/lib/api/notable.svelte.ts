/** Findings and events of the system looked at: asked once, shown as ticks and marks on every time axis. */

import { api, type Finding, type FindingsAnswer } from "./api";
import { ask, type Asked } from "./ask.svelte";
import { file, seconds } from "./session.svelte";
import type { Mark } from "../paint/lines";
import { place } from "../page/place.svelte";

export interface Happened {
  t: number;
  kind: string;
  subject: string | null;
  detail: string | null;
  inferred: boolean | null;
}

export const SEVERITY: Record<string, string> = {
  crit: "var(--crit)",
  warn: "var(--warn)",
  info: "var(--info)",
};

/** A kind with more events than this in the recording is frequent. */
const MANY = 30;

class Marks {
  #findings: Asked<FindingsAnswer> | null = $state.raw(null);
  #events: Asked<Happened[]> | null = $state.raw(null);

  /** To be called once, by a component that lives as long as the page. */
  begin(): void {
    this.#findings = ask((signal) => {
      if (!file.schema) return null;
      const { system } = file;
      // They take longest, and the charts of the view are what the reader waits for.
      return api.quiet(signal).then(() => api.findings({ system }, signal));
    });
    this.#events = ask((signal) => {
      if (!file.schema || !file.fills("event")) return null;
      const columns = ["time", "kind", "subject", "detail", "inferred"];
      const question = { table: "event", columns, system: file.system, limit: 5000 };
      return api.rows(question, signal).then((answer) =>
        answer.rows.flatMap(([time, kind, subject, detail, inferred]) => {
          const t = seconds(time as string | null);
          if (t === null) return [];
          return [
            {
              t,
              kind: String(kind),
              subject: subject as string | null,
              detail: detail as string | null,
              inferred: inferred as boolean | null,
            },
          ];
        }),
      );
    });
  }

  get findings(): Asked<FindingsAnswer> | null {
    return this.#findings;
  }

  get events(): Happened[] {
    return this.#events?.value ?? [];
  }

  /** Findings of a severity or worse, where they were worst. */
  get found(): Finding[] {
    return this.#findings?.value?.rows ?? [];
  }

  /** Kinds of events that come all the time (parking, seeks): lines for them would hide what they mark. */
  get frequent(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const one of this.events) counts.set(one.kind, (counts.get(one.kind) ?? 0) + 1);
    return new Map([...counts].filter(([, count]) => count > MANY));
  }

  /** Events that are rare enough for a mark of their own. */
  get rare(): Happened[] {
    const frequent = this.frequent;
    return this.events.filter((one) => !frequent.has(one.kind));
  }

  /** Rare events as marks of a chart; those within the window. */
  marks(colour = "faint"): Mark[] {
    const [from, to] = file.window;
    return this.rare
      .filter((one) => one.t >= from && one.t <= to)
      .map((one) => ({ t: one.t, label: said(one), colour }));
  }
}

export function said(event: Happened): string {
  const words = [event.kind, event.subject, event.detail].filter(Boolean).join(" ");
  return event.inferred ? `${words} (inferred)` : words;
}

/** Open a finding where it was worst, in the view that shows its matter. */
export function show(finding: Finding): void {
  place.open("findings", { rule: finding.rule, subject: finding.subject });
}

export const marks = new Marks();
