/** The view that shows a subject named like `guest LINUX01` or `device 0145 VOL001`. */

export interface Target {
  view: string;
  settings: Record<string, string>;
}

const SETTINGS: [RegExp, string, string][] = [
  [/^volume (\S+)/, "io", "find"],
  [/^guest (\S+)/, "guests", "user"],
  [/^device (\S+)/, "io", "device"],
  [/^CPU (\S+)/, "processors", "cpu"],
];

/** The view and setting of a subject; null if no view shows it. */
export function linkForSubject(subject: string | null): Target | null {
  for (const [form, view, key] of SETTINGS) {
    const match = form.exec(subject ?? "");
    if (match) return { view, settings: { [key]: match[1]! } };
  }
  return null;
}

/** The window around a time, within the recording. */
export function windowAround(t: number, [first, last]: [number, number], seconds = 300): [number, number] {
  return [Math.max(first, t - seconds / 2), Math.min(last, t + seconds / 2)];
}
