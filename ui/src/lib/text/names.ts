/** Names of columns as words. */

/** A text in sentence case; p95 also remains p95 at the start. */
export const sentence = (text: string): string =>
  /^.\d/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);

/** The label of a column: `mt_utilization_pct` is MT utilization. */
export function columnLabel(column: string): string {
  const words = column
    .replace(/_(pct|rate)$/, "")
    .replace(/_s$/, "_time")
    .split("_");
  return words.map((word, at) => SPELLED[word] ?? (at ? word : sentence(word))).join(" ");
}

/** The name of a processor; counters of all processors have no address. */
export const cpuLabel = (id: unknown): string =>
  id === null || id === undefined ? "All processors" : `CPU ${String(id)}`;

const UPPER =
  "chpid cp cpi cpu ctca dma dvid etr icf id ifl io iucv itr l1mp lcot lgclc lpar lpmgt mips mload mpl msu mt mvs " +
  "ovrhd pte rni sie sigp srb ssch ssid tcb tlb upid utc";

/** Acronyms, and words that are abbreviated in column names. */
const SPELLED: Record<string, string> = {
  ...Object.fromEntries(UPPER.split(" ").map((word) => [word, word.toUpperCase()])),
  cpus: "CPUs",
  ghz: "GHz",
  phys: "Physical",
  resp: "Response",
  tl: "T/L",
  tv: "T/V",
  vcpus: "vCPUs",
  vh: "Vh",
  vm: "Vm",
  vl: "Vl",
  ziip: "zIIP",
  zaap: "zAAP",
};
