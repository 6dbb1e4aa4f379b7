/** What is worth a mark on an axis of time. */

/** A moment or a span of something worth a mark. */
export interface Mark {
  t: number;
  to?: number | null;
  label: string;
  /** A color, or the name of one of the theme. */
  color: string;
  open?: () => void;
}
