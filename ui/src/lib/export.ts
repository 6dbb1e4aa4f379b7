/** A view as one HTML file that needs nothing else: what is seen, as it is seen, without its controls. */

import { fileName, download } from "./save";

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

/** The file's text. `about` is printed above: what was opened, which system and window. */
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
  for (const gone of copy.querySelectorAll("details.menu, .tools, script, .brush, .cursor")) gone.remove();
  for (const field of copy.querySelectorAll("input, select, textarea")) {
    const original = view.querySelector<HTMLInputElement>(`#${CSS.escape(field.id || "-")}`);
    const text = document.createElement("span");
    text.textContent = original?.value ?? (field as HTMLInputElement).value;
    field.replaceWith(text);
  }
  for (const button of copy.querySelectorAll("button")) {
    const text = document.createElement("span");
    text.className = button.className;
    text.innerHTML = button.innerHTML;
    if (button.title) text.title = button.title;
    if (button.classList.contains("quiet")) button.remove();
    else button.replaceWith(text);
  }
  const escape = (words: string): string =>
    words.replace(/[&<>]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[one]!);
  const theme = document.documentElement.dataset["theme"] ?? "light";
  return `<!doctype html>
<html lang="en" data-theme="${theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${escape(title)}</title>
<style>${styles().replaceAll("</", "<\\/")}
html, body { height: auto; } body { padding: 1rem; }</style>
</head>
<body>
<h1>${escape(title)}</h1>
${about.map((line) => `<p>${escape(line)}</p>`).join("\n")}
${copy.outerHTML}
</body>
</html>
`;
}

export function exportView(view: HTMLElement, title: string, about: string[]): void {
  download(fileName(title, "html"), standalone(view, `zlens: ${title}`, about), "text/html");
}
