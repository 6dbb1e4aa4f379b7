/** One interface to draw for the screen, PNG, and SVG: a chart is a function that draws on a Painter. */

import { shade, type Theme } from "./palette";

export interface Paint {
  fill?: string;
  stroke?: string;
  width?: number;
  dash?: number[];
  opacity?: number;
}

export interface Letters {
  color: string;
  size?: number;
  align?: "left" | "center" | "right";
  bold?: boolean;
  /** Rotated a quarter turn to the left, for labels of vertical axes. */
  upright?: boolean;
}

export interface Painter {
  rect(x: number, y: number, width: number, height: number, paint: Paint): void;
  path(points: readonly (readonly [number, number])[], paint: Paint, closed?: boolean): void;
  circle(x: number, y: number, radius: number, paint: Paint): void;
  /** `y` is the vertical center of the text. */
  text(x: number, y: number, words: string, letters: Letters): void;
  /** Hatches an area: values that cannot be computed. */
  hatch(x: number, y: number, width: number, height: number, color: string): void;
  clip(x: number, y: number, width: number, height: number, draw: () => void): void;
  /** Width of the text in pixels. */
  measure(words: string, size?: number): number;
}

/**
 * Draws a chart of this size and returns the regions that respond to the pointer; later ones are on top.
 * Called whenever the size, data, or theme changes.
 */
export type Draw = (painter: Painter, width: number, height: number, theme: Theme) => Region[] | void;

/** Draws a straight line. */
export const segment = (
  painter: Painter,
  from: readonly [number, number],
  to: readonly [number, number],
  paint: Paint,
): void => painter.path([from, to], paint);

export const FONT = "system-ui, 'DejaVu Sans', sans-serif";
const SIZE = 12;

export function canvasPainter(context: CanvasRenderingContext2D): Painter {
  const put = (paint: Paint): void => {
    context.globalAlpha = paint.opacity ?? 1;
    if (paint.fill) {
      context.fillStyle = shade(paint.fill);
      context.fill();
    }
    if (paint.stroke) {
      context.strokeStyle = shade(paint.stroke);
      context.lineWidth = paint.width ?? 1;
      context.setLineDash(paint.dash ?? []);
      context.stroke();
    }
    context.globalAlpha = 1;
  };
  const painter: Painter = {
    rect(x, y, width, height, paint) {
      if (paint.fill && !paint.stroke) {
        context.globalAlpha = paint.opacity ?? 1;
        context.fillStyle = shade(paint.fill);
        context.fillRect(x, y, width, height);
        context.globalAlpha = 1;
        return;
      }
      context.beginPath();
      context.rect(x, y, width, height);
      put(paint);
    },
    path(points, paint, closed = false) {
      if (!points.length) return;
      context.beginPath();
      points.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
      if (closed) context.closePath();
      put(paint);
    },
    circle(x, y, radius, paint) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      put(paint);
    },
    text(x, y, words, letters) {
      context.font = `${letters.bold ? "600 " : ""}${letters.size ?? SIZE}px ${FONT}`;
      context.fillStyle = letters.color;
      context.textAlign = letters.align ?? "left";
      context.textBaseline = "middle";
      if (letters.upright) {
        context.save();
        context.translate(x, y);
        context.rotate(-Math.PI / 2);
        context.fillText(words, 0, 0);
        context.restore();
      } else {
        context.fillText(words, x, y);
      }
    },
    hatch(x, y, width, height, color) {
      painter.clip(x, y, width, height, () => {
        context.beginPath();
        for (let at = x - height; at < x + width; at += 6) {
          context.moveTo(at, y + height);
          context.lineTo(at + height, y);
        }
        put({ stroke: color, width: 1, opacity: 0.6 });
      });
    },
    clip(x, y, width, height, draw) {
      context.save();
      context.beginPath();
      context.rect(x, y, width, height);
      context.clip();
      draw();
      context.restore();
    },
    measure(words, size = SIZE) {
      context.font = `${size}px ${FONT}`;
      return context.measureText(words).width;
    },
  };
  return painter;
}

const escaped = (words: string): string =>
  words.replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]!);

/** Draws into text; `svg()` returns the picture. */
export function svgPainter(width: number, height: number, title: string): Painter & { svg(): string } {
  const parts: string[] = [];
  let clips = 0;
  const look = (paint: Paint): string =>
    [
      `fill="${paint.fill ? shade(paint.fill) : "none"}"`,
      paint.stroke ? `stroke="${shade(paint.stroke)}" stroke-width="${paint.width ?? 1}"` : "",
      paint.stroke && paint.dash?.length ? `stroke-dasharray="${paint.dash.join(" ")}"` : "",
      paint.opacity !== undefined ? `opacity="${paint.opacity}"` : "",
    ]
      .filter(Boolean)
      .join(" ");
  const n = (value: number): string => String(Math.round(value * 100) / 100);
  const painter = {
    rect(x: number, y: number, wide: number, high: number, paint: Paint) {
      const place = `x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, wide))}" height="${n(Math.max(0, high))}"`;
      parts.push(`<rect ${place} ${look(paint)}/>`);
    },
    path(points: readonly (readonly [number, number])[], paint: Paint, closed = false) {
      if (!points.length) return;
      const places = points.map(([x, y]) => `${n(x)},${n(y)}`).join(" ");
      parts.push(`<${closed ? "polygon" : "polyline"} points="${places}" ${look(paint)}/>`);
    },
    circle(x: number, y: number, radius: number, paint: Paint) {
      parts.push(`<circle cx="${n(x)}" cy="${n(y)}" r="${n(radius)}" ${look(paint)}/>`);
    },
    text(x: number, y: number, words: string, letters: Letters) {
      const anchor = { left: "start", center: "middle", right: "end" }[letters.align ?? "left"];
      const turn = letters.upright ? ` transform="rotate(-90 ${n(x)} ${n(y)})"` : "";
      const bold = letters.bold ? ' font-weight="600"' : "";
      parts.push(
        `<text x="${n(x)}" y="${n(y)}" fill="${letters.color}" font-size="${letters.size ?? SIZE}"${bold} ` +
          `text-anchor="${anchor}" dominant-baseline="central"${turn}>${escaped(words)}</text>`,
      );
    },
    hatch(x: number, y: number, wide: number, high: number, color: string) {
      painter.clip(x, y, wide, high, () => {
        for (let at = x - high; at < x + wide; at += 6) {
          segment(painter, [at, y + high], [at + high, y], { stroke: color, opacity: 0.6 });
        }
      });
    },
    clip(x: number, y: number, wide: number, high: number, draw: () => void) {
      const id = `clip${(clips += 1)}`;
      parts.push(
        `<clipPath id="${id}"><rect x="${n(x)}" y="${n(y)}" width="${n(wide)}" height="${n(high)}"/></clipPath>`,
      );
      parts.push(`<g clip-path="url(#${id})">`);
      draw();
      parts.push("</g>");
    },
    measure(words: string, size = SIZE) {
      return words.length * size * 0.58;
    },
    svg() {
      return (
        `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${n(width)} ${n(height)}" width="${n(width)}" ` +
        `height="${n(height)}" font-family="${FONT}" role="img" aria-label="${escaped(title)}">` +
        `<title>${escaped(title)}</title>${parts.join("")}</svg>`
      );
    },
  };
  return painter;
}

export interface Region {
  x: number;
  y: number;
  width: number;
  height: number;
  /** Lines of the tooltip: a title, and exact values with units. */
  lines: string[];
  /** Called on a click or Enter. */
  open?: () => void;
}
