/** Marks on time axes. */

/** A time or span to mark. */
export interface Mark {
  t: number;
  to?: number | null;
  label: string;
  /** A color, or the name of a theme color. */
  color: string;
  open?: () => void;
}
