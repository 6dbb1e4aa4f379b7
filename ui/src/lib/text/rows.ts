/** Rows as CSV and as aligned text. */

/** RFC 4180; missing values are empty fields. */
export function csv(columns: string[], rows: readonly (readonly unknown[])[]): string {
  const field = (value: unknown): string => {
    if (value === null || value === undefined) return "";
    const text = String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(field).join(",")).join("\n") + "\n";
}

/** Aligned plain-text columns for mail and notes. */
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
