/** Paints a box of the machine: colored by busy, bordered by polarity, hatched if unknown. */

import type { Node, Placed } from "./tree";
import type { Painter } from "../../lib/paint/painter";
import { heat, onHeat, type Theme } from "../../lib/paint/palette";

/** Borders: solid for a full core, dashed for a share of a core, dotted without one. */
const EDGE: Record<string, number[]> = { Vh: [], Vm: [6, 3], Vl: [2, 3] };

/** The minimum length of a shortened name. */
const LEAST = 4;

export function fitted(painter: Painter, words: string, width: number, size: number): string {
  if (painter.measure(words, size) <= width) return words;
  let cut = words.length;
  while (cut >= LEAST && painter.measure(`${words.slice(0, cut)}…`, size) > width) cut -= 1;
  return cut >= LEAST ? `${words.slice(0, cut)}…` : "";
}

export function paint(painter: Painter, placed: Placed, theme: Theme): void {
  const { node, box, head } = placed;
  const { x, y, width, height } = box;
  const ink = ground(painter, placed, theme);
  painter.clip(x, y, width, height, () => label(painter, node, box, head, ink, theme));
  const dash = node.polarity ? EDGE[node.polarity] : undefined;
  if (node.capped) painter.rect(x + 1, y + 1, width - 2, height - 2, { stroke: theme.crit, width: 3 });
  else if (dash)
    painter.rect(x + 0.5, y + 0.5, width - 1, height - 1, { stroke: theme.ink, width: 1.5, dash });
  else painter.rect(x + 0.5, y + 0.5, width - 1, height - 1, { stroke: theme.grid });
}

/** Fills the box; returns the text color. */
function ground(painter: Painter, { node, box, head }: Placed, theme: Theme): string {
  const { x, y, width, height } = box;
  const high = head || height;
  if (head) painter.rect(x, y, width, height, { fill: theme.paper });
  if (["pool", "cores", "guests"].includes(node.kind)) {
    painter.rect(x, y, width, high, { fill: theme.grid });
    return theme.ink;
  }
  if (node.kind === "unused") {
    painter.rect(x, y, width, height, { fill: theme.paper });
    painter.rect(x + 2, y + 2, width - 4, height - 4, { stroke: theme.faint, dash: [4, 4] });
    return theme.faint;
  }
  if (node.kind === "management") {
    painter.rect(x, y, width, height, { fill: theme.warn });
    return theme.paper;
  }
  if (typeof node.busy === "number") {
    const share = Math.min(1, node.busy / 100);
    painter.rect(x, y, width, high, { fill: heat(share) });
    return onHeat(share);
  }
  painter.rect(x, y, width, high, { fill: theme.grid });
  if (node.busy === null) painter.hatch(x, y, width, high, theme.faint);
  return theme.ink;
}

function label(
  painter: Painter,
  node: Node,
  { x, y, width, height }: Placed["box"],
  head: number,
  ink: string,
  theme: Theme,
): void {
  const room = width - 8;
  if (room < 14 || height < 11) return;
  // Text on hatching needs a background.
  const plate = (words: string, top: number, size: number): void => {
    if (node.busy !== null || !words) return;
    const wide = painter.measure(words, size) + 6;
    painter.rect(x + 2, top - size * 0.7, Math.min(width - 4, wide), size * 1.4, { fill: theme.grid });
  };
  const put = (words: string, top: number, size: number, bold: boolean): void => {
    // Names may be shortened, figures must not be.
    const fits = painter.measure(words, size) <= room;
    const shown = fits || bold ? fitted(painter, words, room, size) : "";
    plate(shown, top, size);
    painter.text(x + 5, top, shown, { color: ink, size, bold });
  };
  if (head) {
    const name = fitted(painter, node.name, room, 12);
    plate(`${name}  ${node.word}`, y + head / 2, 11);
    painter.text(x + 5, y + head / 2, name, { color: ink, size: 12, bold: true });
    const used = painter.measure(name, 12) * 1.08 + 10;
    const rest = fitted(painter, node.word, room - used, 11);
    painter.text(x + 5 + used, y + head / 2, rest, { color: ink, size: 11 });
    return;
  }
  const middle = height < 30 ? y + height / 2 : y + 11;
  if (height < 30) {
    put(node.word ? `${node.name}  ${node.word}` : node.name, middle, 11, false);
    return;
  }
  put(node.name, middle, 12, true);
  const lines = node.word.split(" · ");
  if (height > 130 && width > 110) lines.push(...(node.more ?? []));
  lines.forEach((words, at) => {
    const top = middle + 15 * (at + 1);
    if (top + 6 < y + height) put(words, top, 11, false);
  });
}
