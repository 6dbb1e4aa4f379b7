/** The views in menu order. A view is hidden if the input has no data for it. */

import type { Component } from "svelte";
import { session, type Needs } from "../lib/api/session.svelte";
import { register } from "../lib/page/viewRegistry";
import CpuMf from "../views/cpumf/CpuMf.svelte";
import Findings from "../views/findings/Findings.svelte";
import Fleet from "../views/fleet/Fleet.svelte";
import Guests from "../views/guests/Guests.svelte";
import Io from "../views/io/Io.svelte";
import Ledger from "../views/ledger/Ledger.svelte";
import Machine from "../views/machine/Machine.svelte";
import Overview from "../views/overview/Overview.svelte";
import Reports from "../views/reports/Reports.svelte";
import Sql from "../views/sql/Sql.svelte";
import Processors from "../views/processors/Processors.svelte";

export interface View {
  id: string;
  title: string;
  /** The key after `g` that opens the view. */
  letter: string;
  shows: () => boolean;
  /** What it needs of the schema. */
  needs?: () => Needs;
  /** Its component, or what loads it when the view is first opened. */
  component?: Component;
  load?: () => Promise<{ default: Component }>;
  /** Whether the view shows only intervals of the selected window. */
  windowed?: boolean;
}

/** Whether the selected system has data for one of these measures. */
const any =
  (...tables: string[]) =>
  (): boolean =>
    session.fills(...tables);

/** Whether the selected system has a subject for this view; files may hold z/VM and z/OS systems. */
const uses = (view: string): boolean => session.subjects.some((subject) => subject.view === view);

/** The measures of all subjects, once they are known. */
const subjects = (): string[] => (session.schema?.subjects ?? []).map((subject) => subject.table);

export const VIEWS: View[] = [
  {
    id: "overview",
    title: "Overview",
    letter: "o",
    shows: () => true,
    needs: () => ({ tables: ["load", "guest", "cec", "throughput", "partition", "workload", "cpumf_type"] }),
    component: Overview,
    windowed: true,
  },
  { id: "findings", title: "Findings", letter: "f", shows: () => true, component: Findings },
  {
    id: "fleet",
    title: "Fleet",
    letter: "a",
    shows: () => new Set(session.systems.map(({ system }) => system)).size > 1,
    component: Fleet,
  },
  {
    id: "processors",
    title: "Processors",
    letter: "p",
    shows: () => session.fills("cpu") || session.cores,
    needs: () => ({ tables: ["cpu", "core", "core_type"] }),
    component: Processors,
    windowed: true,
  },
  {
    id: "lanes",
    title: "Lanes",
    letter: "l",
    shows: () => session.timed && session.fills("cpu", "partition", "guest", "workload", "device"),
    load: () => import("../views/lanes/Lanes.svelte"),
  },
  {
    id: "machine",
    title: "Machine",
    letter: "m",
    shows: () => session.fills("cec", "partition", "cpu") || session.cores,
    needs: () => ({ tables: ["cec", "partition", "load", "cpu", "core", "guest"] }),
    component: Machine,
    windowed: true,
  },
  {
    id: "ledger",
    title: "Ledger",
    letter: "d",
    shows: any("cec", "partition", "load"),
    needs: () => ({ tables: ["cec", "partition", "load"] }),
    component: Ledger,
    windowed: true,
  },
  {
    id: "cpumf",
    title: "CPU MF",
    letter: "c",
    shows: any("cpumf_type", "cpumf"),
    needs: () => ({ tables: ["cpumf", "cpumf_type"] }),
    component: CpuMf,
    windowed: true,
  },
  {
    id: "guests",
    title: "Guests",
    letter: "u",
    shows: () => uses("guests"),
    needs: () => ({ tables: subjects() }),
    component: Guests,
    windowed: true,
  },
  {
    id: "workloads",
    title: "Workloads",
    letter: "u",
    shows: () => uses("workloads"),
    needs: () => ({ tables: subjects() }),
    component: Guests,
    windowed: true,
  },
  {
    id: "io",
    title: "I/O and paging",
    letter: "i",
    shows: any("device", "alias_pool", "channel", "paging"),
    needs: () => ({ tables: ["device", "alias_pool", "channel", "paging", "storage", "load"] }),
    component: Io,
    windowed: true,
  },
  {
    id: "compare",
    title: "Compare",
    letter: "k",
    shows: any("load", "guest", "cpu"),
    load: () => import("../views/compare/Compare.svelte"),
  },
  {
    id: "lab",
    title: "Laboratory",
    letter: "b",
    shows: () => true,
    needs: () => ({ parts: ["models"] }),
    load: () => import("../views/lab/Lab.svelte"),
  },
  {
    id: "rig",
    title: "Rig",
    letter: "t",
    shows: () => !!session.schema?.runs,
    load: () => import("../views/rig/Rig.svelte"),
  },
  {
    id: "reports",
    title: "Reports",
    letter: "r",
    shows: () => true,
    needs: () => ({ parts: ["reports"] }),
    component: Reports,
    windowed: true,
  },
  {
    id: "sql",
    title: "SQL",
    letter: "q",
    shows: () => true,
    needs: () => ({ tables: "all" }),
    component: Sql,
  },
];

register(VIEWS);
