/** Whether axes of shares extend to their possible maximum, such as 100%; the address stores it. */

import { route } from "./route.svelte";

export const extended = (): boolean => route.get("axis") === "full";

export const toggleExtended = (): void => route.set({ axis: extended() ? null : "full" });

/** The value that an axis must contain: `most` if axes are extended, otherwise none. */
export const axisEnd = (most: number | null): number | null => (extended() ? most : null);
