/** Where L1 misses were sourced, and the color of each source. */

import { category } from "../../lib/paint/palette";

/** Where L1 misses were sourced, from near to far. A machine has some of them; what each means is in the catalog. */
export const SOURCED = ["l15p", "l2lp", "l2rp", "l2p", "l3p", "l4lp", "l4rp", "memp"];

/** Cool is near, warm is far; on every generation memory looks the same. */
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
