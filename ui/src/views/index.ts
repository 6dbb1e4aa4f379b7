/** The views, in the order of the menu. A view is hidden where the input has nothing for it. */

import type { Component } from "svelte";
import type { Schema } from "../lib/api";
import Findings from "./Findings.svelte";
import Overview from "./Overview.svelte";

export interface View {
  id: string;
  title: string;
  /** The key after `g` that opens it. */
  letter: string;
  shows: (schema: Schema) => boolean;
  component: Component;
}

/** Shown where one of these measures has something. */
export const any =
  (...tables: string[]) =>
  (schema: Schema): boolean =>
    schema.tables.some((table) => table.fills && tables.includes(table.name));

export const VIEWS: View[] = [
  { id: "overview", title: "Overview", letter: "o", shows: () => true, component: Overview },
  { id: "findings", title: "Findings", letter: "f", shows: () => true, component: Findings },
];
