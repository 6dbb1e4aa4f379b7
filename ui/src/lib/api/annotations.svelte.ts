/** Findings and events of the selected system, requested once and shown on every time axis. */

import { untrack } from "svelte";
import { api } from "./api";
import type { Finding, FindingsPart } from "./types";
import { createQuery, type Query } from "./query.svelte";
import { addressOf, gathered, type Findings } from "./findings";
import { session } from "./session.svelte";
import { seconds } from "../time/format";
import type { Mark } from "../time/mark";
import { titleOf } from "../page/viewRegistry";
import { windowAround, linkForSubject } from "./target";
import { liveFeed } from "../page/liveFeed.svelte";
import { route } from "../page/route.svelte";

export interface SystemEvent {
  t: number;
  kind: string;
  subject: string | null;
  detail: string | null;
  inferred: boolean | null;
}

/** An event kind is frequent if it occurs more often than this. */
const MANY = 30;

/** Waits for the view of all systems, which has priority over annotations of one system. */
async function waited(signal: AbortSignal): Promise<void> {
  if (untrack(() => route.view) === "fleet") await api.quiet(signal);
}

class Annotations {
  #asked: Query<void> | null = $state.raw(null);
  #parts = $state.raw<FindingsPart[]>([]);
  #found = $derived(gathered(this.#parts, session.system));
  #events: Query<SystemEvent[]> | null = $state.raw(null);
  // The system in the address; null for all systems if the address has none or an unknown one. With many
  // systems, only the selected one: findings of a thousand systems take minutes.
  #of = $derived.by(() => {
    if (!session.schema) return route.system;
    return session.schema.wide || session.system === route.system ? session.system : null;
  });

  /** Called once, by a component that lives as long as the web UI. */
  begin(): void {
    // Requested before the schema is loaded, so that findings appear with the first charts. A system in the
    // address may not exist, so it waits for the schema.
    this.#asked = createQuery((signal) => {
      const of = this.#of;
      if ((of !== null || route.source !== null) && !session.schema) return null;
      let parts: FindingsPart[] = [];
      const show = (): void => void (this.#parts = parts);
      const take = (part: FindingsPart): void => {
        parts = [...parts, part];
        // Findings of the previous interval remain until all new ones have arrived.
        if (!liveFeed.live) show();
      };
      return waited(signal).then(() =>
        api.findings({ system: of, source: session.source }, take, signal, of === null).then(show),
      );
    });
    this.#events = createQuery((signal) => {
      if (!session.schema || !session.fills("event")) return null;
      const columns = ["time", "kind", "subject", "detail", "inferred"];
      const question = { table: "event", columns, ...session.shown, limit: 5000 };
      return waited(signal)
        .then(() => api.rows(question, signal))
        .then((answer) =>
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

  /** The request, which is busy while more findings may arrive, and has the error if it failed. */
  get asked(): Query<void> | null {
    return this.#asked;
  }

  /** The findings received. */
  get found(): Findings {
    return this.#found;
  }

  get events(): SystemEvent[] {
    return this.#events?.value ?? [];
  }

  get findings(): Finding[] {
    return this.#found.rows;
  }

  /** Frequent kinds of events, such as parking: their marks would hide everything else. */
  get frequent(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const event of this.events) counts.set(event.kind, (counts.get(event.kind) ?? 0) + 1);
    return new Map([...counts].filter(([, count]) => count > MANY));
  }

  /** Events rare enough to be marked. */
  get rare(): SystemEvent[] {
    const frequent = this.frequent;
    return this.events.filter((event) => !frequent.has(event.kind));
  }

  /** Rare events within the window, as marks. */
  marks(color = "faint"): Mark[] {
    const [from, to] = session.window;
    return this.rare
      .filter((event) => event.t >= from && event.t <= to)
      .map((event) => ({
        t: event.t,
        label: describe(event),
        short: event.kind,
        color,
        open: () => showEvent(event),
      }));
  }
}

export function describe(event: SystemEvent): string {
  const words = [event.kind, event.subject, event.detail].filter(Boolean).join(" ");
  return event.inferred ? `${words} (inferred)` : words;
}

/** Opens a finding in the findings view. */
export function show(finding: Finding): void {
  route.open("findings", { ...addressOf(finding) });
}

/** Opens the subject of an event with five minutes around it. */
export function showEvent(event: SystemEvent): void {
  const [from, to] = windowAround(event.t, session.span).map(Math.round);
  const target = linkForSubject(event.subject);
  if (target && titleOf(target.view)) route.open(target.view, { ...target.settings, from, to });
  else route.set({ from, to }, { push: true });
}

export const annotations = new Annotations();
