/** The live feed: an event for each closed interval, after which requests are repeated. */

/** A finding that holds, or held until a time; times in seconds UTC. */
export interface LiveFinding {
  rule: string;
  severity: "crit" | "warn" | "info";
  title: string;
  system: string | null;
  data: string | null;
  subject: string | null;
  value: number | null;
  unit: string | null;
  since: number;
  until: number | null;
}

/** The content of an event; `S` is a system in the schema. */
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
  /** Whether the data are live. */
  live = $state(false);
  /** Whether the server is available. */
  connected = $state(false);
  /** Whether the server cannot store new data, so that none are shown. */
  blocked = $state(false);
  /** Increases with new data: its readers repeat their requests. */
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
    source.onerror = () => (this.connected = false);
    // A server tells only of blocked storage, and again after each new connection.
    source.onopen = () => {
      this.connected = true;
      this.blocked = false;
    };
    source.addEventListener("storage", (message) => {
      this.blocked = (JSON.parse((message as MessageEvent<string>).data) as { blocked: boolean }).blocked;
    });
    source.addEventListener("interval", (message) => {
      const event = JSON.parse((message as MessageEvent<string>).data) as LiveEvent<S>;
      const show = (): void => {
        this.#take(event);
        this.revision += 1;
        take(event.systems, this.revision);
      };
      if (!this.#paused) show();
      // Only the newest event is shown after a pause.
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
