import { expect, test } from "vitest";
import type { ModelAnswer } from "../../../src/lib/api/types";
import { cutBars } from "../../../src/charts/serverChart";
import { columnsOf } from "../../../src/charts/answerTable";
import { printed } from "../../../src/lib/api/tables";
import { beside, changes } from "../../../src/views/lab/answer";

const column = (key: string, unit = ""): ModelAnswer["tables"][number]["columns"][number] => ({
  key,
  heading: key,
  unit,
  text: "",
  decimals: 1,
});

test("numbers are formatted like zlens solve", () => {
  const texts = (rows: (string | number | boolean | null)[][], whole = false) => {
    const columns = columnsOf({ key: "t", title: "", columns: [{ ...column("a"), whole }], rows });
    return printed(columns[0]!, rows.flat(), String);
  };
  expect(texts([[1039], [-0.001], [null]])).toEqual(["1,039.0", "0.0", "–"]);
  expect(texts([[22]], true)).toEqual(["22"]);
  expect(texts([[true], ["all"], [1.25]])).toEqual(["yes", "all", "1.3"]);
});

test("expected and observed are paired, largest error first", () => {
  const answer: ModelAnswer = {
    model: "shares",
    title: "",
    figures: [],
    tables: [
      {
        key: "users",
        title: "",
        columns: [column("name"), column("expected", "% of 1"), column("observed"), column("error")],
        rows: [
          ["A", 10, 10, 0],
          ["B", 20, 5, -15],
          ["C", null, null, null],
        ],
      },
    ],
    charts: [],
    notes: [],
    assumptions: [],
  };
  const chart = beside(answer)[0]!;
  expect(chart.places).toEqual(["B (-15.0)", "A"]);
  expect(chart.series.map((one) => one.values)).toEqual([
    [20, 10],
    [5, 10],
  ]);
  expect(chart.unit).toBe("% of 1");
  expect(beside({ ...answer, tables: [] })).toEqual([]);
});

test("before and after are drawn if they differ", () => {
  const table = (key: string, rows: (string | number | null)[][]): ModelAnswer["tables"][number] => ({
    key,
    title: key,
    columns: [column("name"), column("before", "cores"), column("after", "cores")],
    rows,
  });
  const answer: ModelAnswer = {
    model: "plan",
    title: "",
    figures: [],
    tables: [
      table("same", [["A", 1, 1]]),
      table("other", [
        ["A", 1, 2],
        ["B", 2, 2],
        ["C", 5, 1],
        ["D", null, 3],
      ]),
    ],
    charts: [],
    notes: [],
    assumptions: [],
  };
  expect(changes(answer).map((one) => [one.title, one.places])).toEqual([["other", ["C", "A"]]]);
});

test("a chart of very many bars is truncated", () => {
  const places = Array.from({ length: 99 }, (_, at) => `p${at}`);
  const chart = cutBars({
    title: "",
    kind: "bars",
    places,
    series: [{ name: "s", values: places.map(() => 1) }],
    unit: "",
    along: "",
  });
  expect([chart.places.length, chart.series[0]!.values.length]).toEqual([60, 60]);
});
