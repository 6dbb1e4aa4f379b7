/** The search over everything that the page can open. */

export interface Entry {
  /** What it is: guest, device, report. */
  kind: string;
  name: string;
  /** More words to find it by. */
  text: string;
  open: () => void;
}

/** The entries with all words of a query: those whose name begins with it first. */
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
