/** Marks on charts: a solid line with a flag and, if there is room, a label. The crosshair is dashed. */

import { segment, type Painter } from "./painter";
import type { Mark } from "../time/mark";
import { plural } from "../text/numbers";
import { tone, type Theme } from "./palette";

/** Marks closer than this share a label. */
const NEAR = 5;
const SIZE = 10;

/** Labels of marks from left to right; null for a label that would reach the next mark or the right edge. */
export function markLabels(
  marks: readonly Pick<Mark, "label" | "short">[],
  places: readonly number[],
  right: number,
  measure: (words: string, size: number) => number,
): { x: number; label: string | null }[] {
  const order = marks.map((mark, at) => ({ x: places[at]!, words: mark.short ?? mark.label }));
  order.sort((a, b) => a.x - b.x);
  const groups: { x: number; end: number; words: string[] }[] = [];
  for (const { x, words } of order) {
    const last = groups.at(-1);
    if (last && x - last.end < NEAR) {
      last.end = x;
      last.words.push(words);
    } else groups.push({ x, end: x, words: [words] });
  }
  return groups.map(({ end, words }, at) => {
    const kinds = new Set(words);
    const text = kinds.size === 1 ? words[0]! : plural(words.length, "event");
    const label = kinds.size === 1 && words.length > 1 ? `${text} (${words.length})` : text;
    const room = (groups[at + 1]?.x ?? right) - end - 8;
    return { x: end, label: measure(label, SIZE) <= room ? label : null };
  });
}

/** Draws marks between the top and the bottom of a chart whose drawing ends at `right`. */
export function drawMarks(
  painter: Painter,
  marks: readonly Mark[],
  x: (t: number) => number,
  [left, right]: [number, number],
  [top, bottom]: [number, number],
  theme: Theme,
): void {
  const shown = marks.filter((mark) => x(mark.t) >= left && x(mark.t) <= right);
  for (const mark of shown) {
    const [at, color] = [x(mark.t), tone(theme, mark.color)];
    segment(painter, [at, top], [at, bottom], { stroke: color, opacity: 0.5 });
    painter.path(
      [
        [at, top],
        [at + 4, top + 3],
        [at, top + 6],
      ],
      { fill: color },
      true,
    );
  }
  const places = shown.map((mark) => x(mark.t));
  for (const { x, label } of markLabels(shown, places, right, (words, size) =>
    painter.measure(words, size),
  )) {
    if (label === null) continue;
    painter.rect(x + 5, top - 2, painter.measure(label, SIZE) + 2, SIZE + 1, {
      fill: theme.paper,
      opacity: 0.9,
    });
    painter.text(x + 6, top + 4, label, { color: theme.ink, size: SIZE });
  }
}
