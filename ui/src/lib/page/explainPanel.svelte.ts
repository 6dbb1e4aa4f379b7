/** The panel that explains a number: definition, inputs, record and field, status, source. */

class ExplainPanel {
  name = $state<string | null>(null);
  /** What was walked to before: the way goes on from there. */
  #before: HTMLElement | null = null;

  open(name: string): void {
    if (this.name === null && document.activeElement instanceof HTMLElement)
      this.#before = document.activeElement;
    this.name = name;
  }

  close(): void {
    if (this.name === null) return;
    this.name = null;
    if (this.#before?.isConnected) this.#before.focus();
    this.#before = null;
  }
}

export const explainPanel = new ExplainPanel();
