/** Marks on time axes. */

/** A time or span to mark. */
export interface Mark {
  t: number;
  to?: number | null;
  label: string;
  /** Shown next to the mark; the label by default. */
  short?: string;
  /** A color, or the name of a theme color. */
  color: string;
  open?: () => void;
}
