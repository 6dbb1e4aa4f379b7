/** A short notice at the bottom of the window. */

class Toast {
  text = $state("");

  /** Shows a short notice ("link copied"), which screen readers announce. */
  show(text: string): void {
    this.text = text;
    setTimeout(() => {
      if (this.text === text) this.text = "";
    }, 2500);
  }
}

export const toast = new Toast();
