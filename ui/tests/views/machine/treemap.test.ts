import { describe, expect, it } from "vitest";
import { between, strips, type Box } from "../../../src/views/machine/treemap";

const PLACE: Box = { x: 10, y: 20, width: 300, height: 200 };

const area = (box: Box): number => box.width * box.height;

describe("strips", () => {
  it("fill the area in proportion to the weights", () => {
    const weights = [6, 6, 4, 3, 2, 2, 1];
    const boxes = strips(weights, PLACE);
    boxes.forEach((box, at) => expect(area(box)).toBeCloseTo((area(PLACE) * weights[at]!) / 24, 6));
  });

  it("stay inside without overlap", () => {
    const boxes = strips([5, 1, 1, 8, 2, 0.1, 3], PLACE);
    for (const [at, one] of boxes.entries()) {
      expect(one.x).toBeGreaterThanOrEqual(PLACE.x - 1e-9);
      expect(one.y + one.height).toBeLessThanOrEqual(PLACE.y + PLACE.height + 1e-9);
      expect(one.x + one.width).toBeLessThanOrEqual(PLACE.x + PLACE.width + 1e-9);
      for (const other of boxes.slice(at + 1)) {
        const across = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x);
        const down = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y);
        expect(across > 1e-6 && down > 1e-6).toBe(false);
      }
    }
  });

  it("give no area to zero weights", () => {
    expect(area(strips([0, 1], PLACE)[0]!)).toBe(0);
    expect(strips([0, 0], PLACE).map(area)).toEqual([0, 0]);
    expect(strips([], PLACE)).toEqual([]);
    expect(strips([1], { ...PLACE, width: 0 }).map(area)).toEqual([0]);
  });

  it("are interpolated between two layouts", () => {
    expect(
      between({ x: 0, y: 0, width: 10, height: 10 }, { x: 10, y: 20, width: 20, height: 0 }, 0.5),
    ).toEqual({
      x: 5,
      y: 10,
      width: 15,
      height: 5,
    });
  });
});
