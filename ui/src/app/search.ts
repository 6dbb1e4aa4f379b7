/** The search for everything that the web UI can open. */

export interface Entry {
  /** Kind of entry: guest, device, report. */
  kind: string;
  name: string;
  /** Further words that find the entry. */
  text: string;
  open: () => void;
}

/** Returns the entries that contain all words of a query, first those whose name begins with it. */
export function found(entries: readonly Entry[], query: string, most = 30): Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const whole = words.join(" ");
  const rank = ({ name }: Entry): number => {
    const lower = name.toLowerCase();
    return lower === whole ? 0 : lower.startsWith(whole) ? 1 : lower.includes(whole) ? 2 : 3;
  };
  return entries
    .filter(({ kind, name, text }) => {
      const all = `${kind} ${name} ${text}`.toLowerCase();
      return words.every((word) => all.includes(word));
    })
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, most);
}
