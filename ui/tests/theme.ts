/** Colors to draw with. */

import type { Theme } from "../src/lib/paint/palette";

export const theme: Theme = {
  ink: "#000",
  faint: "#777",
  grid: "#eee",
  paper: "#fff",
  accent: "#00f",
  crit: "#f00",
  warn: "#fa0",
  info: "#0af",
};
