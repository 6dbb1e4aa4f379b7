/** The tooltip, and the time under the pointer in every chart. */

class Tooltip {
  lines = $state.raw<string[] | null>(null);
  x = $state(0);
  y = $state(0);

  show(lines: string[], x: number, y: number): void {
    this.lines = lines;
    this.x = x;
    this.y = y;
  }

  hide(): void {
    this.lines = null;
  }
}

class Cursor {
  /** The time under the pointer, in seconds UTC. */
  time = $state<number | null>(null);
}

export const tooltip = new Tooltip();
export const cursor = new Cursor();
