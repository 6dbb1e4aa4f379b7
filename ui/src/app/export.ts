/** Exports a view as one self-contained HTML file, without its controls. */

import { flushSync } from "svelte";
import { fileName, download } from "../lib/page/save";
import { exportMode } from "../lib/page/exportMode.svelte";

function styles(): string {
  return [...document.styleSheets]
    .flatMap((sheet) => {
      try {
        return [...sheet.cssRules].map((rule) => rule.cssText);
      } catch {
        return [];
      }
    })
    .join("\n");
}

/** The HTML of the file. `about` is printed at the top: inputs, system, and window. */
export function standalone(view: HTMLElement, title: string, about: string[]): string {
  const copy = view.cloneNode(true) as HTMLElement;
  const painted = [...view.querySelectorAll("canvas")];
  [...copy.querySelectorAll("canvas")].forEach((canvas, at) => {
    const from = painted[at]!;
    const picture = document.createElement("img");
    picture.src = from.width && from.height ? from.toDataURL("image/png") : "data:,";
    picture.alt = from.closest("[aria-label]")?.getAttribute("aria-label") ?? title;
    picture.setAttribute("style", canvas.getAttribute("style") ?? "");
    const box = from.getBoundingClientRect();
    picture.style.width = `${box.width}px`;
    picture.style.height = `${box.height}px`;
    canvas.replaceWith(picture);
  });
  // Elements that replace buttons do not match the style sheet, so copy the computed styles.
  const buttons = [...view.querySelectorAll("button")];
  [...copy.querySelectorAll("button")].forEach((button, at) => looks(buttons[at]!, button));
  for (const gone of copy.querySelectorAll(CONTROLS)) gone.remove();
  for (const gone of copy.querySelectorAll("details.menu, .tools, script, .brush, .cursor, [aria-live]"))
    gone.remove();
  // Cloned fields lose their values, so read them from the document.
  const fields = [...view.querySelectorAll<HTMLInputElement>("input, select, textarea")];
  const texts = new Map(fields.map((field, at) => [at, textOf(field)]));
  [...copy.querySelectorAll("input, select, textarea")].forEach((field, at) => {
    const text = document.createElement(field.tagName === "TEXTAREA" ? "pre" : "span");
    text.className = "field";
    text.textContent = texts.get(at) ?? "";
    field.replaceWith(text);
  });
  for (const link of copy.querySelectorAll('a[href^="#"]')) {
    const text = document.createElement("span");
    text.className = link.className;
    if (link.hasAttribute("aria-current")) text.setAttribute("aria-current", "true");
    text.replaceChildren(...link.childNodes);
    link.replaceWith(text);
  }
  for (const button of copy.querySelectorAll("button")) {
    const text = document.createElement("span");
    text.className = button.className;
    text.setAttribute("style", button.getAttribute("style") ?? "");
    text.innerHTML = button.innerHTML;
    if (button.title) text.title = button.title;
    if (button.classList.contains("quiet")) button.remove();
    else button.replaceWith(text);
  }
  // Pictures are not interactive.
  for (const group of copy.querySelectorAll('[role="group"][tabindex]')) {
    group.removeAttribute("tabindex");
    group.setAttribute("role", "img");
    group.setAttribute(
      "aria-label",
      (group.getAttribute("aria-label") ?? "").replace(/; read values .*$/, ""),
    );
  }
  const escape = (words: string): string =>
    words.replace(/[&<>]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[letter]!);
  const theme = document.documentElement.dataset["theme"] ?? "light";
  return `<!doctype html>
<html lang="en" data-theme="${theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${escape(title)}</title>
<style>${styles().replaceAll("</", "<\\/")}
html, body { height: auto; } body { padding: 1rem; } .field { white-space: pre-wrap; }
@media print { .rows, pre { max-height: none !important; overflow: visible !important; } }</style>
</head>
<body>
<h1>${escape(title)}</h1>
${about.map((line) => `<p>${escape(line)}</p>`).join("\n")}
${copy.outerHTML}
</body>
</html>
`;
}

/** Controls without content of their own. */
const CONTROLS =
  "form, .buttons, .modes [aria-pressed=false], button.main:not([aria-pressed]), aside .choices, .player";

const LOOKS = [
  "display",
  "gap",
  "align-items",
  "padding",
  "border",
  "border-radius",
  "background-color",
  "box-shadow",
  "color",
  "font-size",
  "font-weight",
];

function looks(from: Element, to: HTMLElement): void {
  const style = getComputedStyle(from);
  for (const name of LOOKS) to.style.setProperty(name, style.getPropertyValue(name));
}

/** The value of a field as text. */
function textOf(field: HTMLInputElement | HTMLSelectElement): string {
  if (field instanceof HTMLSelectElement) return field.selectedOptions[0]?.textContent ?? "";
  if (field.type === "checkbox" || field.type === "radio") return field.checked ? "☑" : "☐";
  return field.value;
}

export function exportView(view: HTMLElement, title: string, about: string[]): void {
  exportMode.on = true;
  flushSync();
  const text = standalone(view, `zlens: ${title}`, about);
  exportMode.on = false;
  download(fileName(title, "html"), text, "text/html");
}
