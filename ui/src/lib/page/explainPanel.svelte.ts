/** The panel that explains a number: its value, definition, inputs, record and field, status, source. */

/** A value that the panel was opened from: what it is of, and the value with its unit. */
export interface Clicked {
  label: string;
  value: string;
}

class ExplainPanel {
  name = $state<string | null>(null);
  /** The values that the panel was opened from; none after a change to another name in the panel. */
  clicked = $state.raw<Clicked[]>([]);
  /** A time in the interval of the value, in seconds UTC; null for the column in general. */
  at = $state<number | null>(null);
  /** The element that had the focus before, and gets it again. */
  #before: HTMLElement | null = null;

  open(name: string, clicked: Clicked[] = [], at: number | null = null): void {
    if (this.name === null && document.activeElement instanceof HTMLElement)
      this.#before = document.activeElement;
    this.name = name;
    this.clicked = clicked;
    this.at = at;
  }

  close(): void {
    if (this.name === null) return;
    this.name = null;
    this.clicked = [];
    if (this.#before?.isConnected) this.#before.focus();
    this.#before = null;
  }
}

export const explainPanel = new ExplainPanel();
