import { describe, expect, it } from "vitest";
import { withColumns } from "../../../src/lib/api/measures";
import { decisionLayers, decisionMarks } from "../../../src/views/processors/decisions";

describe("decisions of HiperDispatch", () => {
  it("are counted by kind for each processor type", () => {
    const answer = withColumns({
      columns: ["cpu_type", "t", "unparks_total", "parks_total", "refused_total", "seconds_last"],
      rows: [
        ["CP", 900, 3, 1, 0, 900],
        ["ZIIP", 900, 0, 0, 2, 900],
        ["CP", 960, 1, null, 0, 60],
      ],
      sql: "",
      more: false,
    });
    const { t, seconds, layers } = decisionLayers(answer, "CP");
    expect([t, seconds]).toEqual([
      [900, 960],
      [900, 60],
    ]);
    expect(layers.map(({ name, value }) => [name, value])).toEqual([
      ["Unparks", [3, 1]],
      ["Parks", [1, null]],
      ["Refused", [0, 0]],
    ]);
  });

  it("are marked with their reasons", () => {
    const rows = [
      ["1970-01-01T00:01:00Z", "CP", "unpark", "more capacity needed"],
      ["1970-01-01T00:02:00Z", "ZIIP", "park", null],
    ];
    expect(decisionMarks({ rows }, "CP")).toEqual([
      { t: 60, label: "Unpark: more capacity needed", short: "", color: "faint" },
    ]);
    expect(decisionMarks({ rows }, "ZIIP")[0]!.label).toBe("Park");
  });
});
