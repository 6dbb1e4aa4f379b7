import { describe, expect, it } from "vitest";
import { markLabels } from "../../../src/lib/paint/marks";

const mark = (short: string) => ({ label: `${short} of a guest`, short });
/** Every letter is six pixels wide. */
const measure = (words: string): number => words.length * 6;

describe("labels of event lines", () => {
  it("are left out if they would reach the next line or the edge", () => {
    const found = markLabels([mark("Logon"), mark("Logoff"), mark("Vary off")], [200, 20, 40], 250, measure);
    expect(found).toEqual([
      { x: 20, label: null },
      { x: 40, label: "Vary off" },
      { x: 200, label: "Logon" },
    ]);
    expect(markLabels([mark("Logon")], [230], 250, measure)).toEqual([{ x: 230, label: null }]);
  });

  it("are shared by lines at one place", () => {
    expect(markLabels([mark("Logon"), mark("Logon")], [10, 12], 300, measure)[0]!.label).toBe("Logon (2)");
    expect(markLabels([mark("Logon"), mark("Vary")], [10, 12], 300, measure)[0]!.label).toBe("2 events");
  });
});
