/** What charts are given: all of them in their frame, and those that are drawn. */

import type { Snippet } from "svelte";
import type { ApiError } from "../lib/api/api";
import type { Draw, Region } from "../lib/paint/painter";

export interface Framed {
  title: string;
  /** Name of the chart for tests and files. */
  name: string;
  unit?: string | null;
  /** A sentence under the title. */
  note?: string;
  /** What `zlens explain` is asked. */
  explain?: string | null;
  busy?: boolean;
  error?: ApiError | null;
  /** Why there is nothing to see; null where there is. */
  empty?: string | null;
  sql?: string | null;
  /** Figures or choices beside the title. */
  tools?: Snippet;
}

export interface LegendEntry {
  name: string;
  color: string;
  text?: string;
  figures?: string;
}

export interface PlotProps {
  label: string;
  height: number;
  draw: Draw;
  /** Instead of regions where there are very many: the one at a place. */
  at?: ((x: number, y: number, width: number, height: number) => Region | null) | null;
  /** Where time runs: from left to right (pixels from the edges) between two moments. */
  time?: { from: number; to: number; left: number; right: number } | null;
  /** What a drag does instead of zooming the page. */
  brushed?: ((from: number, to: number) => void) | null;
}
