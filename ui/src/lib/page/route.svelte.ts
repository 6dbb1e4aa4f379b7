/** The state in the address of the web UI. A link restores the view. */

const RESERVED = new Set(["system", "source", "from", "to", "run"]);

/** Parses the fragment of an address: `#/guests?system=A&from=1&to=2&user=B`. */
export function parse(hash: string): { view: string; values: Map<string, string> } {
  const [, path = "", words = ""] = /^#?\/?([^?]*)\??(.*)$/s.exec(hash) ?? [];
  let view = path;
  try {
    view = decodeURIComponent(path);
  } catch {
    // Malformed addresses name no view, so the first view is shown.
  }
  return { view, values: new Map(new URLSearchParams(words)) };
}

export function written(view: string, values: Map<string, string>): string {
  const words = new URLSearchParams([...values].sort(([a], [b]) => (a < b ? -1 : 1))).toString();
  return `#/${encodeURIComponent(view)}${words ? `?${words}` : ""}`;
}

/** Time without scrolling after which the position is stored. */
const SCROLL_PAUSE_MS = 120;
/** Time in which a view must reach the height of a stored position. */
const RESTORE_MS = 8000;

/** Start and end of a window; null for those of the recording. */
type Edges = readonly [number | null, number | null];

class Route {
  #view = $state("");
  #values = $state.raw(new Map<string, string>());
  // Derived separately, so that a change of another setting does not repeat requests about the window.
  #system = $derived(this.#values.get("system") ?? null);
  #source = $derived(this.#values.get("source") ?? null);
  #run: string | null = null;
  #from = $derived(number(this.#values.get("from")));
  #to = $derived(number(this.#values.get("to")));

  constructor() {
    if (typeof window === "undefined") return;
    const read = (): void => {
      const { view, values } = parse(location.hash);
      // Before any request: otherwise a window that moves would cause two.
      const window: Edges = [number(values.get("from")), number(values.get("to"))];
      const [from, to] = this.settle(window, values.get("system") ?? null);
      this.#view = view;
      this.#values = values;
      if (from !== window[0] || to !== window[1]) this.set({ from, to });
      else this.#reopen();
    };
    this.#run = parse(location.hash).values.get("run") ?? null;
    read();
    addEventListener("hashchange", read);
    addEventListener("popstate", read);
    this.#keepScroll();
  }

  /**
   * Keeps the scroll position of each entry of the browser's history, and restores it on Back and Forward.
   * Browsers would restore it before the view has its height.
   */
  #keepScroll(): void {
    history.scrollRestoration = "manual";
    let pause = 0;
    addEventListener("scroll", () => {
      clearTimeout(pause);
      pause = window.setTimeout(() => history.replaceState({ scroll: scrollY }, ""), SCROLL_PAUSE_MS);
    });
    this.#flush = () => {
      clearTimeout(pause);
      history.replaceState({ scroll: scrollY }, "");
    };
    const restore = (): void => {
      clearTimeout(pause);
      this.#stopRestoring();
      const { scroll = 0 } = (history.state ?? {}) as { scroll?: number };
      const ended = new AbortController();
      const stop = (): void => ended.abort();
      const step = (): void => {
        scrollTo({ top: scroll, behavior: "instant" });
        const ready = document.querySelector('[data-ready="true"]') !== null;
        if (scroll === 0 || (ready && Math.abs(scrollY - scroll) < 2)) stop();
      };
      const timer = setInterval(step, 50);
      ended.signal.addEventListener("abort", () => clearInterval(timer));
      // The user scrolls elsewhere, or the view no longer gets this high.
      for (const name of ["wheel", "touchmove", "keydown", "pointerdown"])
        addEventListener(name, stop, { signal: ended.signal });
      setTimeout(stop, RESTORE_MS);
      this.#stopRestoring = stop;
    };
    addEventListener("popstate", restore);
    if (history.state) restore();
  }

  #flush: () => void = () => undefined;
  #stopRestoring: () => void = () => undefined;

  get view(): string {
    return this.#view;
  }

  /** The selected system; null until one is selected. */
  get system(): string | null {
    return this.#system;
  }

  /** The source to show if several describe the system; null for the first source. */
  get source(): string | null {
    return this.#source;
  }

  /** The run of the rig that is open instead of the inputs, as SCENARIO/RUN. */
  get run(): string | null {
    return this.#run;
  }

  /** Start of the window in seconds UTC; null for the first interval. */
  get from(): number | null {
    return this.#from;
  }

  /** End of the window in seconds UTC; null for the last interval. */
  get to(): number | null {
    return this.#to;
  }

  /** Whether a setting is a number. */
  given(key: string): boolean {
    return number(this.#values.get(key)) !== null;
  }

  /** A setting of the current view. */
  get(key: string): string | null {
    return this.#values.get(key) ?? null;
  }

  /** Changes settings; null removes one. `push` adds an entry to the browser's history. */
  set(changes: Record<string, string | number | null | undefined>, { push = false } = {}): void {
    const values = new Map(this.#values);
    for (const [key, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") values.delete(key);
      else values.set(key, String(value));
    }
    this.#go(this.#view, values, push);
  }

  /** Opens another view with the same system and window, but without the view's settings. */
  open(view: string, settings: Record<string, string | number | null | undefined> = {}): void {
    const values = new Map([...this.#values].filter(([key]) => RESERVED.has(key)));
    for (const [key, value] of Object.entries(settings)) {
      if (value === null || value === undefined || value === "") values.delete(key);
      else values.set(key, String(value));
    }
    this.#go(view, values, true);
  }

  /** The address of another view with the same system and window. */
  link(view: string, settings: Record<string, string> = {}): string {
    const values = new Map([...this.#values].filter(([key]) => RESERVED.has(key)));
    for (const [key, value] of Object.entries(settings)) values.set(key, value);
    return written(view, values);
  }

  /** Moves a window to interval ends; set by the session, which has the ends. */
  snap: (window: [number, number]) => [number, number] = (window) => window;

  /** Returns the window to show for a window and system in an address; also set by the session. */
  settle: (window: Edges, system: string | null) => Edges = (window) => window;

  /** Selects a window; null for both shows everything. */
  setWindow(from: number | null, to: number | null): void {
    if (from !== null && to !== null) [from, to] = this.snap([from, to]);
    this.set(
      { from: from === null ? null : Math.round(from), to: to === null ? null : Math.round(to) },
      { push: true },
    );
  }

  #go(view: string, values: Map<string, string>, push: boolean): void {
    const other = view !== this.#view;
    this.#view = view;
    this.#values = values;
    const address = written(view, values);
    if (address === location.hash) return;
    if (push) {
      this.#flush();
      this.#stopRestoring();
      history.pushState(null, "", address);
    } else history.replaceState(history.state, "", address);
    if (push && other) scrollTo({ top: 0, behavior: "instant" });
    this.#reopen();
  }

  /** Reloads the web UI if the address names another run, because all loaded data are stale. */
  #reopen(): void {
    if ((this.#values.get("run") ?? null) !== this.#run) location.reload();
  }
}

function number(text: string | undefined): number | null {
  const value = text === undefined || text === "" ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

export const route = new Route();
