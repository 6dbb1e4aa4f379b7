/** Following data that still arrive: an event for each interval that closes, after which questions are asked again. */

/** A finding that is there, or was until a moment; times in seconds UTC. */
export interface LiveFinding {
  rule: string;
  severity: "crit" | "warn" | "info";
  title: string;
  system: string | null;
  subject: string | null;
  value: number | null;
  unit: string | null;
  since: number;
  until: number | null;
}

/** What an event says; `S` is a system as the schema has it. */
export interface LiveEvent<S> {
  step: number;
  systems: S[];
  closed: { system: string; source: string; end: number; seconds: number | null; busy_pct: number | null }[];
  open: LiveFinding[];
  cleared: LiveFinding[];
}

/** Findings that have cleared and are still shown. */
const CLEARED = 6;

class LiveFeed {
  /** Whether data still arrive. */
  live = $state(false);
  /** Whether the server is there. */
  connected = $state(false);
  /** Increases when there is something new: its readers request again. */
  revision = $state(0);
  open = $state.raw<LiveFinding[]>([]);
  cleared = $state.raw<LiveFinding[]>([]);
  /** The last interval of each system: its end, and mean busy. */
  last = $state.raw(new Map<string, { end: number; busy: number | null }>());
  #paused = $state(false);
  #pending: (() => void) | null = null;

  /** Called once. `take` gets the systems of each event that is shown. */
  begin<S>(take: (systems: S[], revision: number) => void): void {
    if (this.live) return;
    this.live = true;
    const source = new EventSource("/api/v1/follow");
    source.onopen = () => (this.connected = true);
    source.onerror = () => (this.connected = false);
    source.addEventListener("interval", (message) => {
      const event = JSON.parse((message as MessageEvent<string>).data) as LiveEvent<S>;
      const show = (): void => {
        this.#take(event);
        this.revision += 1;
        take(event.systems, this.revision);
      };
      if (!this.#paused) show();
      // Only the newest is shown when it goes on.
      else this.#pending = show;
    });
  }

  #take<S>(event: LiveEvent<S>): void {
    const last = new Map(this.last);
    for (const { system, end, busy_pct } of event.closed) last.set(system, { end, busy: busy_pct });
    this.last = last;
    this.open = event.open;
    this.cleared = [...event.cleared, ...this.cleared].slice(0, CLEARED);
  }

  get paused(): boolean {
    return this.#paused;
  }

  pause(): void {
    this.#paused = !this.#paused;
    if (this.#paused) return;
    this.#pending?.();
    this.#pending = null;
  }
}

export const liveFeed = new LiveFeed();
