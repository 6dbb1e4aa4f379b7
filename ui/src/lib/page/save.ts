/** What leaves the page: copied texts and files. */

import { notice } from "./explainPanel.svelte";

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without the right to the clipboard (a page that is not secure) the old way is left.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  notice.say(`${what} copied`);
}

export function download(name: string, content: Blob | string, type = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type: `${type};charset=utf-8` }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  notice.say(`${name} saved`);
}

/** RFC 4180; what is not computable is an empty field. */
export function csv(columns: string[], rows: readonly (readonly unknown[])[]): string {
  const field = (value: unknown): string => {
    if (value === null || value === undefined) return "";
    const text = String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(field).join(",")).join("\n") + "\n";
}

/** Aligned columns for a mail or a note. */
export function plain(columns: string[], rows: readonly (readonly string[])[], right: boolean[]): string {
  const widths = columns.map((name, at) =>
    Math.max(name.length, ...rows.map((row) => (row[at] ?? "").length)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((text, at) => (right[at] ? text.padStart(widths[at]!) : text.padEnd(widths[at]!)))
      .join("  ")
      .trimEnd();
  return [line(columns), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n") + "\n";
}

/** A file name of what it shows. */
export function fileName(words: string, ending: string): string {
  return `zlens-${words
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60)}.${ending}`;
}
