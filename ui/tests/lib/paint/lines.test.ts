import { describe, expect, it } from "vitest";
import {
  breaks,
  drawLines,
  extent,
  linesTable,
  lone,
  spread,
  aligned,
  times,
  traces,
} from "../../../src/lib/paint/lines";
import type { TimeSeries } from "../../../src/lib/api/series";
import { svgPainter } from "../../../src/lib/paint/painter";

const answer = (bucket: number): TimeSeries => ({
  bucket_s: bucket,
  sql: "SELECT",
  lines: [
    {
      by: null,
      source: "zvm-monitor",
      column: "busy_pct",
      t: [60, 120, 180, 600, 660],
      seconds: [],
      min: [1, 2, null, 4, 5],
      max: [10, 90, null, 40, 50],
      p50: [5, 6, null, 7, 8],
      p95: [9, 9, null, 9, 9],
    },
  ],
});

const theme = {
  ink: "#000",
  faint: "#000",
  grid: "#eee",
  paper: "#fff",
  accent: "#00f",
  crit: "",
  warn: "",
  info: "",
};

describe("lines", () => {
  it("show median and range of the values of a pixel", () => {
    const [trace] = traces(answer(60), () => "busy");
    expect(trace!.value).toEqual([5, 6, null, 7, 8]);
    expect(trace!.high).toEqual([10, 90, null, 40, 50]);
    expect(extent([trace!])).toEqual([1, 90]);
    const [raw] = traces(answer(0), () => "busy");
    expect(raw!.low).toBeNull();
  });

  it("mark a value without neighbors by a point", () => {
    expect(lone([null, 1, null, 2, 3, null, 4])).toEqual([1, 6]);
    // Undefined values are bridged, so they separate nothing.
    expect(lone([1, undefined, 2, null, undefined, 3, undefined])).toEqual([5]);
    expect(lone([])).toEqual([]);
  });

  it("are converted to the requested unit", () => {
    const [trace] = traces(answer(60), () => "busy", { times: 1000 });
    expect([trace!.value[0], trace!.low![0], trace!.high![0], trace!.value[2]]).toEqual([
      5000,
      1000,
      10_000,
      null,
    ]);
  });

  it("distinguish several sources", () => {
    const two = answer(60);
    two.lines.push({ ...two.lines[0]!, source: "smf" });
    expect(traces(two, () => "busy").map((one) => one.name)).toEqual(["busy (zvm-monitor)", "busy (smf)"]);
  });

  it("do not bridge gaps", () => {
    const [trace] = traces(answer(0), () => "busy");
    expect(breaks(trace!.t)).toEqual([210]);
    const joint = times([trace!]);
    expect(joint).toEqual([60, 120, 180, 210, 600, 660]);
    expect(aligned(joint, trace!, trace!.value)).toEqual([5, 6, null, null, 7, 8]);
  });

  it("are interrupted at missing values", () => {
    const [trace] = traces(answer(0), () => "busy");
    const painter = svgPainter(400, 200, "busy");
    drawLines([trace!], [0, 700], 0)(painter, 400, 200, theme);
    const lines = painter.svg().match(/<polyline[^>]*stroke="#0072b2"/g) ?? [];
    expect(lines).toHaveLength(2);
  });

  it("show a single interval of one or two sources", () => {
    const alone = { name: "a", color: "#0072b2", low: null, high: null };
    for (const t of [[60], [60, 60]]) {
      const painter = svgPainter(400, 200, "busy");
      const trace = { ...alone, t, value: t.map(() => 5) };
      drawLines([trace], [0, 700], 0)(painter, 400, 200, theme);
      expect(painter.svg()).toContain("<circle");
    }
  });

  it("of one color differ in dashes", () => {
    const three = answer(0);
    three.lines = ["a", "b", "c"].map((by) => ({ ...three.lines[0]!, by }));
    const dashes = traces(three, (line) => String(line.by), { color: () => "#0072b2" }).map(
      (one) => one.dash,
    );
    expect(dashes[0]).toBeUndefined();
    expect(new Set(dashes.map(String)).size).toBe(3);
  });

  it("of one interval have their values", () => {
    const alone = { name: "a", color: "#0072b2", low: null, high: null };
    const drawn = (t: number[]): string => {
      const painter = svgPainter(400, 200, "busy");
      const trace = { ...alone, t, value: t.map(() => 41.5) };
      drawLines([trace], [0, 700], 0, { unit: "%" })(painter, 400, 200, theme);
      return painter.svg();
    };
    expect(drawn([60])).toContain(">41.5%</text>");
    expect(drawn([60, 120])).not.toContain("41.5%");
  });

  it("are exported with every value", () => {
    const table = linesTable(
      traces(answer(60), () => "busy"),
      0,
    );
    expect(table.columns).toEqual(["time", "time_utc_s", "busy", "busy min", "busy max"]);
    expect(table.rows[1]).toEqual(["1970-01-01 00:02:00", 120, 6, 2, 90]);
    expect(table.rows[2]!.slice(2)).toEqual([null, null, null]);
  });
});

describe("labels of values", () => {
  it("are apart, and above the bottom of the chart", () => {
    expect(spread([20, 60], 100)).toEqual([20, 60]);
    expect(spread([20, 22, 24], 100)).toEqual([20, 32, 44]);
    expect(spread([10, 90, 95, 99], 100)).toEqual([10, 70, 82, 94]);
  });
});

describe("a drawn line", () => {
  it("has a point for each value if there are few", () => {
    const dots = (count: number): number => {
      const t = Array.from({ length: count }, (_, at) => at);
      const painter = svgPainter(400, 200, "x");
      const trace = { name: "a", color: "#111111", t, value: t, low: null, high: null };
      drawLines([trace], [0, count], 0)(painter, 400, 200, theme);
      return painter.svg().match(/<circle/g)?.length ?? 0;
    };
    expect([dots(1), dots(2), dots(39), dots(40)]).toEqual([1, 2, 39, 0]);
  });
});
