/** The panel that explains a number: definition, inputs, record and field, status, source. */

class ExplainPanel {
  name = $state<string | null>(null);
  /** A time in the interval of the value, in seconds UTC; null for the column in general. */
  at = $state<number | null>(null);
  /** The element that had the focus before, and gets it again. */
  #before: HTMLElement | null = null;

  open(name: string, at: number | null = null): void {
    if (this.name === null && document.activeElement instanceof HTMLElement)
      this.#before = document.activeElement;
    this.name = name;
    this.at = at;
  }

  close(): void {
    if (this.name === null) return;
    this.name = null;
    if (this.#before?.isConnected) this.#before.focus();
    this.#before = null;
  }
}

export const explainPanel = new ExplainPanel();
