/** Matches names against a filter: a pattern with `*` and `?`, or a part of the name. */

export function matching(filter: string): (name: string) => boolean {
  const words = filter.trim();
  if (!words) return () => true;
  if (!/[*?]/.test(words)) {
    const small = words.toLowerCase();
    return (name) => name.toLowerCase().includes(small);
  }
  const source = words
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  const pattern = new RegExp(`^${source}$`, "i");
  return (name) => pattern.test(name);
}
