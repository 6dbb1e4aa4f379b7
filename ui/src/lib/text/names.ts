/** Names of columns as words. */

/** The spoken name of a column: `mt_utilization_pct` is MT utilization. */
export function columnLabel(column: string): string {
  const words = column.replace(/_(pct|s|rate)$/, "").split("_");
  return words.map((word) => LETTERS[word] ?? word).join(" ");
}

/** The name of a processor; counters of all processors have no address. */
export const cpuLabel = (id: unknown): string =>
  id === null || id === undefined ? "all processors" : `CPU ${String(id)}`;

const UPPER = "cp cpi cpu etr io itr l1mp mt mvs rni ssid tv upid";

/** Acronyms. */
const LETTERS: Record<string, string> = {
  ...Object.fromEntries(UPPER.split(" ").map((word) => [word, word.toUpperCase()])),
  vh: "Vh",
  vm: "Vm",
  vl: "Vl",
};
