/** A short word at the foot of the page. */

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
