/** Where the results of requests are shown: those for the screen come first. */

import { getContext, setContext } from "svelte";

/** Returns the element that shows a result, once it exists. */
export type Place = () => Element | undefined;

const KEY = Symbol("place");

/** Declares the place of all requests of a component's children. */
export const setPlace = (place: Place): void => void setContext(KEY, place);

export const placeOf = (): Place | undefined => getContext<Place | undefined>(KEY);

/** Whether a part of the place is on the screen. */
export function isOnScreen(place: Place): boolean {
  const element = place();
  if (!element) return true;
  const { top, bottom } = element.getBoundingClientRect();
  return top < window.innerHeight && bottom > 0;
}
