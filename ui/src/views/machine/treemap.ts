/** A tree map: rectangles sized by weight and in constant order, so that they do not move. */

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The average aspect ratio of a strip's rectangles. */
function shape(strip: number[], along: number, scale: number): number {
  const sum = strip.reduce((a, b) => a + b, 0);
  const across = (sum * scale) / along;
  if (!(across > 0)) return Infinity;
  const ratios = strip
    .filter((weight) => weight > 0)
    .map((weight) => {
      const long = (weight * scale) / across;
      return Math.max(long / across, across / long);
    });
  return ratios.reduce((a, b) => a + b, 0) / Math.max(1, ratios.length);
}

/** Returns one box per weight, in strips across the entire width (or height if the area is wide). */
export function strips(weights: readonly number[], box: Box): Box[] {
  const total = weights.reduce((sum, weight) => sum + Math.max(0, weight), 0);
  if (!(total > 0) || box.width <= 0 || box.height <= 0) {
    return weights.map(() => ({ x: box.x, y: box.y, width: 0, height: 0 }));
  }
  const wide = box.width > box.height;
  const [along, breadth] = wide ? [box.height, box.width] : [box.width, box.height];
  const scale = (along * breadth) / total;
  const parts: number[][] = [];
  let strip: number[] = [];
  let best = Infinity;
  for (const weight of weights) {
    const size = Math.max(0, weight);
    const next = shape([...strip, size], along, scale);
    if (strip.length && next > best) {
      parts.push(strip);
      strip = [size];
      best = shape(strip, along, scale);
    } else {
      strip.push(size);
      best = next;
    }
  }
  parts.push(strip);
  const boxes: Box[] = [];
  let across = 0;
  for (const part of parts) {
    const sum = part.reduce((a, b) => a + b, 0);
    const deep = (sum * scale) / along;
    let at = 0;
    for (const weight of part) {
      const long = sum > 0 ? (weight / sum) * along : 0;
      boxes.push(
        wide
          ? { x: box.x + across, y: box.y + at, width: deep, height: long }
          : { x: box.x + at, y: box.y + across, width: long, height: deep },
      );
      at += long;
    }
    across += deep;
  }
  return boxes;
}

/** Interpolates between two boxes. */
export function between(from: Box, to: Box, share: number): Box {
  const mix = (a: number, b: number): number => a + (b - a) * share;
  return {
    x: mix(from.x, to.x),
    y: mix(from.y, to.y),
    width: mix(from.width, to.width),
    height: mix(from.height, to.height),
  };
}
