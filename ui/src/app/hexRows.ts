/** Rows of a record in hexadecimal, with the bytes of fields marked. */

export interface ByteRun {
  text: string;
  /** Whether the bytes belong to a field. */
  marked: boolean;
}

export interface HexRow {
  /** Offset of the first byte in the record. */
  offset: number;
  runs: ByteRun[];
}

const ROW = 16;

/** Returns rows of 16 bytes; consecutive bytes with the same mark are one run. */
export function hexRows(hex: string, fields: readonly { offset: number | null; length: number }[]): HexRow[] {
  const marked = (at: number): boolean =>
    fields.some(({ offset, length }) => offset !== null && at >= offset && at < offset + length);
  const rows: HexRow[] = [];
  for (let at = 0; at * 2 < hex.length; at += 1) {
    if (at % ROW === 0) rows.push({ offset: at, runs: [] });
    const { runs } = rows.at(-1)!;
    const last = runs.at(-1);
    const text = hex.slice(at * 2, at * 2 + 2);
    if (last?.marked === marked(at)) last.text += ` ${text}`;
    else runs.push({ text, marked: marked(at) });
  }
  return rows;
}
