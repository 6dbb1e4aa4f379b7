/** Light or dark theme: that of the operating system until the user selects one. */

const KEY = "zlens-theme";

class Theme {
  dark = $state(false);

  constructor() {
    if (typeof window === "undefined") return;
    const system = matchMedia("(prefers-color-scheme: dark)");
    const chosen = localStorage.getItem(KEY);
    this.#put(chosen === null ? system.matches : chosen === "dark");
    system.addEventListener("change", (event) => {
      if (localStorage.getItem(KEY) === null) this.#put(event.matches);
    });
  }

  toggle(): void {
    localStorage.setItem(KEY, this.dark ? "light" : "dark");
    this.#put(!this.dark);
  }

  #put(dark: boolean): void {
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    this.dark = dark;
  }
}

export const theme = new Theme();
