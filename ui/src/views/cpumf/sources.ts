/** The sources of L1 misses and their colors. */

import { category } from "../../lib/paint/palette";

/** The sources of L1 misses, near to far. A machine has some of them; the catalog describes each. */
export const SOURCED = ["l15p", "l2lp", "l2rp", "l2p", "l3p", "l4lp", "l4rp", "memp"];

/** Near sources are cool, far ones warm; memory looks the same on every generation. */
const SOURCE_COLORS: Record<string, number> = {
  l15p: 4,
  l2lp: 0,
  l2rp: 3,
  l2p: 0,
  l3p: 4,
  l4lp: 2,
  l4rp: 1,
  memp: 5,
};

export const sourceColor = (name: string): string => category(SOURCE_COLORS[name] ?? 6);
