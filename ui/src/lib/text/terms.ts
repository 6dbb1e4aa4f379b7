/** Terms within texts. */

export interface Piece<T> {
  text: string;
  /** The term of the fragment; null for other text. */
  term: T | null;
}

/** Splits a text into terms and the text between them; the case of a first letter may differ. */
export function splitByTerms<T extends { name: string }>(text: string, terms: readonly T[]): Piece<T>[] {
  const known = new Map(terms.map((term) => [term.name.toLowerCase(), term]));
  if (!known.size) return [{ text, term: null }];
  const names = terms.map((term) => term.name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  const form = new RegExp(`(?<![\\w/])(${names.join("|")})(?![\\w/])`, "gi");
  return text
    .split(form)
    .map((text, at) => ({ text, term: at % 2 ? (known.get(text.toLowerCase()) ?? null) : null }))
    .filter((piece) => piece.text);
}

/** Splits a text into names such as `cpu.busy_pct` that `known` accepts, and the text between them. */
export function splitByNames(text: string, known: (name: string) => boolean): Piece<string>[] {
  return text
    .split(/(?<![\w.])((?:[a-z]\w*\.)+[a-z]\w*)(?![\w.])/)
    .map((text, at) => ({ text, term: at % 2 && known(text) ? text : null }))
    .filter((piece) => piece.text);
}
