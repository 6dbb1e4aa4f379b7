/** Properties shared by all framed charts, and properties of drawings. */

import type { Snippet } from "svelte";
import type { Clicked } from "../lib/page/explainPanel.svelte";
import type { ApiError } from "../lib/api/api";
import type { Draw, Region } from "../lib/paint/painter";

export interface Framed {
  title: string;
  /** Opens the subject of the title. */
  opens?: (() => void) | null;
  /** The chart's name in tests and file names. */
  name: string;
  unit?: string | null;
  /** A sentence below the title. */
  note?: string;
  /** The name to pass to `zlens explain`. */
  explain?: string | null;
  /** The values that the explanation repeats. */
  explained?: () => Clicked[];
  busy?: boolean;
  error?: ApiError | null;
  /** The reason for an empty chart; null if it is not empty. */
  emptyText?: string | null;
  sql?: string | null;
  /** The window of the data, if it is not the selected one. */
  span?: [number, number] | null;
  /** Controls next to the title. */
  tools?: Snippet;
  /** Figures on a line below the title. */
  figures?: Snippet;
}

export interface LegendEntry {
  name: string;
  color: string;
  text?: string;
  figures?: string;
  /** The dashes of its line; none for a solid line or an area. */
  dash?: number[];
  /** How an area is filled: `Layer` of stacks. */
  look?: "hatched" | "faint" | undefined;
  /** Whether the entry is not drawn. */
  hidden?: boolean;
  /** Hides or shows the entry. */
  toggle?: () => void;
}

export interface PlotProps {
  label: string;
  height: number;
  draw: Draw;
  /** Finds the region at a position if there are too many regions to list. */
  at?: ((x: number, y: number, width: number, height: number) => Region | null) | null;
  /** The time axis: its start and end, and its distance in pixels from both edges. */
  time?: { from: number; to: number; left: number; right: number } | null;
  /** Handles a drag instead of zooming the window. */
  brushed?: ((from: number, to: number) => void) | null;
}
