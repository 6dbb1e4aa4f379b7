/** The panel that explains a number: definition, inputs, record and field, status, source. */

class ExplainPanel {
  name = $state<string | null>(null);

  open(name: string): void {
    this.name = name;
  }

  close(): void {
    this.name = null;
  }
}

export const explainPanel = new ExplainPanel();

class Notice {
  text = $state("");

  /** A short word on what was done ("copied"), also told to screen readers. */
  say(text: string): void {
    this.text = text;
    setTimeout(() => {
      if (this.text === text) this.text = "";
    }, 2500);
  }
}

export const notice = new Notice();
