/** The connection to the server. When a request gets no response, it is tried until there is one. */

const RETRY_MS = 2000;

class Connection {
  /** When it was lost, in seconds UTC; null while the server responds. */
  lost = $state<number | null>(null);
  /** Increases when the server responds again: its readers repeat their requests. */
  revision = $state(0);
  #back: Promise<void> | null = null;

  /** Waits until the server responds again. */
  restored(): Promise<void> {
    return (this.#back ??= this.#retry());
  }

  async #retry(): Promise<void> {
    this.lost = Date.now() / 1000;
    do await new Promise((done) => setTimeout(done, RETRY_MS));
    while (!(await this.responds()));
    this.#back = null;
    this.lost = null;
    this.revision += 1;
  }

  /** Whether the server responds now; a proxy may answer in its place. */
  async responds(): Promise<boolean> {
    try {
      return (await fetch("healthz", { cache: "no-store" })).ok;
    } catch {
      return false;
    }
  }
}

export const connection = new Connection();
