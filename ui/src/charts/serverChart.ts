/** Charts that the server describes, for answers of models and for the rig. */

import type { ServerChart } from "../lib/api/types";
import type { Cell } from "../lib/api/values";
import { category } from "../lib/paint/palette";

const SHORT = 60;
/** Limits bar charts to a readable number of bars. */
export function cutBars(chart: ServerChart): ServerChart {
  if (chart.places.length <= SHORT) return chart;
  const series = chart.series.map((series) => ({ ...series, values: series.values.slice(0, SHORT) }));
  return { ...chart, places: chart.places.slice(0, SHORT), series };
}

export type ColoredChart = Omit<ServerChart, "series"> & {
  series: (ServerChart["series"][number] & { color: string })[];
};

/** Each series with its color, which does not depend on hidden series. */
export const colored = (chart: ServerChart): ColoredChart => ({
  ...chart,
  series: chart.series.map((series, at) => ({ ...series, color: category(at) })),
});

/** The chart's data as rows. */
export function chartRows(chart: ServerChart): { columns: string[]; rows: Cell[][] } {
  return {
    columns: [chart.along || "place", ...chart.series.map((series) => series.name)],
    rows: chart.places.map((place, at) => [
      place,
      ...chart.series.map((series) => series.values[at] ?? null),
    ]),
  };
}
