/** Seconds by owner: a tree, laid out as an icicle chart. */

import type { Cell } from "../../lib/api/values";
import { formatFixed, formatPrecise, withUnit, formatQuantity } from "../../lib/text/numbers";
import type { Region, Painter } from "../../lib/paint/painter";
import { colorsOf, type Theme } from "../../lib/paint/palette";

export interface Owner {
  name: string;
  /** Names from the top to this one. */
  path: string[];
  value: number;
  children: Owner[];
}

/**
 * Builds the tree from rows of [name, name, ..., value], one per leaf. A null name ends the path: the seconds
 * are the parent's own.
 */
export function tree(top: string, rows: readonly (readonly Cell[])[]): Owner {
  const root: Owner = { name: top, path: [], value: 0, children: [] };
  const known = new Map<string, Owner>([["", root]]);
  for (const row of rows) {
    const value = row[row.length - 1];
    if (typeof value !== "number" || !(value > 0)) continue;
    let here = root;
    here.value += value;
    for (const name of row.slice(0, -1)) {
      if (name === null) break;
      const path = [...here.path, String(name)];
      const key = path.join("\u0000");
      let next = known.get(key);
      if (!next) {
        next = { name: String(name), path, value: 0, children: [] };
        known.set(key, next);
        here.children.push(next);
      }
      next.value += value;
      here = next;
    }
  }
  const sorted = (owner: Owner): void => {
    owner.children.sort((a, b) => b.value - a.value);
    owner.children.forEach(sorted);
  };
  sorted(root);
  return root;
}

/** The owner at a path, or the deepest one that exists. */
export function ownerAt(root: Owner, path: string[]): Owner {
  let here = root;
  for (const name of path) {
    const next = here.children.find((child) => child.name === name);
    if (!next) break;
    here = next;
  }
  return here;
}

/** Encodes a path for the address; names may contain slashes. */
export function pathText(path: string[]): string {
  return path.map((name) => encodeURIComponent(name)).join("/");
}

export function pathOf(text: string | null): string[] {
  return text ? text.split("/").map(decoded) : [];
}

/** Decodes a name; malformed names are returned unchanged. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

export function depth(owner: Owner): number {
  return 1 + owner.children.reduce((most, child) => Math.max(most, depth(child)), 0);
}

export const ROW = 30;

/** The minimum width of a box. */
const LEAST = 0.5;

export function drawOwners(
  root: Owner,
  focus: Owner,
  unit: string,
  painter: Painter,
  width: number,
  theme: Theme,
  open: (owner: Owner) => void,
): Region[] {
  const regions: Region[] = [];
  const colors = colorsOf(
    "owner",
    root.children.map((child) => child.name),
  );
  const lines = (owner: Owner): string[] => [
    owner.path.length ? owner.path.join(" / ") : owner.name,
    withUnit(formatPrecise(owner.value), unit),
    `${formatFixed((100 * owner.value) / root.value, 2)}% of all` +
      (focus === root || owner === focus
        ? ""
        : `, ${formatFixed((100 * owner.value) / focus.value, 2)}% of ${focus.name}`),
  ];
  const box = (owner: Owner, x: number, row: number, wide: number): void => {
    if (wide < LEAST) return;
    const level = owner.path.length;
    const base = level === 0 ? theme.faint : (colors.get(owner.path[0]!) ?? theme.accent);
    const inner = Math.max(0.4, wide - 1);
    const y = row * ROW;
    painter.rect(x, y, inner, ROW - 1, { fill: theme.paper });
    painter.rect(x, y, inner, ROW - 1, { fill: base, opacity: [0.35, 0.75, 0.5, 0.3][Math.min(level, 3)] });
    // A name fits or is left out: parts of names may look like other names.
    const named = x + 5 + painter.measure(owner.name, 12) * (level <= 1 ? 1.08 : 1);
    if (named < x + inner - 2) {
      painter.text(x + 5, y + ROW / 2, owner.name, { color: theme.ink, size: 12, bold: level <= 1 });
      const words = formatQuantity(owner.value, unit);
      if (named + 8 + painter.measure(words, 11) < x + wide)
        painter.text(named + 8, y + ROW / 2, words, { color: theme.ink, size: 11 });
    }
    regions.push({ x, y, width: inner, height: ROW - 1, lines: lines(owner), open: () => open(owner) });
    let at = x;
    for (const child of owner.children) {
      const share = (child.value / owner.value) * wide;
      box(child, at, row + 1, share);
      at += share;
    }
  };
  if (root.value > 0) {
    // Ancestors of the focused owner at full width; a click zooms out.
    let above: Owner = root;
    let row = 0;
    while (above !== focus) {
      const outer = above;
      painter.rect(0, row * ROW, width, ROW - 1, { fill: theme.grid });
      painter.text(5, row * ROW + ROW / 2, outer.name, { color: theme.ink, size: 12 });
      regions.push({
        x: 0,
        y: row * ROW,
        width,
        height: ROW - 1,
        lines: [...lines(outer), "Select to go back"],
        open: () => open(outer),
      });
      row += 1;
      above = outer.children.find((child) => child.name === focus.path[outer.path.length])!;
    }
    box(focus, 0, row, width);
  }
  return regions;
}

/** All owners as rows: path, level, and seconds. */
export function ownerRows(root: Owner): (string | number)[][] {
  return [
    [root.path.join(" / ") || root.name, root.path.length, root.value],
    ...root.children.flatMap(ownerRows),
  ];
}
