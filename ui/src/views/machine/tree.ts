/** A machine at an interval as a tree: pools, partitions, cores, threads, and guests. */

import type { Cell } from "../../lib/api/values";
import { formatShort, plural, formatQuantity } from "../../lib/text/numbers";
import { columnLabel, cpuLabel } from "../../lib/text/names";
import { reading } from "../../lib/paint/stack";
import { strips, type Box } from "./treemap";

export type Kind =
  | "machine"
  | "pool"
  | "partition"
  | "management"
  | "unused"
  | "cores"
  | "core"
  | "thread"
  | "guests"
  | "guest"
  | "others";

export type Row = Record<string, Cell>;
export type Table = "cec" | "partition" | "core" | "cpu" | "guest";
export type Size = "share" | "time";

/** Rows of the measures for one interval. */
export type Moment = Record<Table, Row[]>;

export interface Node {
  /** Its path from the machine, used in the address. */
  id: string;
  kind: Kind;
  name: string;
  /** Size relative to its siblings. */
  weight: number;
  /** Percent; null if it cannot be computed, undefined if not applicable. */
  busy?: number | null;
  /** Short text next to the name. */
  word: string;
  polarity?: string | null;
  parked?: boolean;
  capped?: boolean;
  /** Extra lines if there is space. */
  more?: string[];
  table?: Table;
  row?: Row;
  children: Node[];
}

/** The columns to request, also shown in tooltips. */
export const COLUMNS: Record<Table, string[]> = {
  cec: [
    "cpu_type",
    "physical",
    "dedicated",
    "total_weight",
    "lgclc_pct",
    "ovrhd_pct",
    "lpmgt_pct",
    "total_pct",
    "type_tl",
    "phys_total_pct",
    "total_s",
    "management_s",
    "seconds",
  ],
  partition: [
    "partition",
    "cpu_type",
    "status",
    "dedicated",
    "weight",
    "share_pct",
    "entitlement",
    "logical_cpus",
    "vh",
    "vm",
    "vl",
    "any_cap",
    "cap_text",
    "group_name",
    "effective_pct",
    "total_pct",
    "phys_lpmgt_pct",
    "phys_total_pct",
    "effective_s",
    "total_s",
  ],
  core: [
    "core_id",
    "cpu_type",
    "polarity",
    "entitlement_pct",
    "threads",
    "nesting",
    "parked_pct",
    "core_busy_pct",
    "thread_density",
    "productivity_pct",
    "mt_utilization_pct",
  ],
  cpu: [
    "cpu_id",
    "core_id",
    "thread_id",
    "cpu_type",
    "polarity",
    "entitlement_pct",
    "parked_pct",
    "busy_pct",
    "emulation_pct",
    "system_pct",
    "suspend_pct",
    "wait_pct",
  ],
  guest: [
    "userid",
    "vcpus",
    "share_kind",
    "share",
    "share_limit",
    "limit_kind",
    "cpu_pool",
    "cpu_s",
    "cpu_pct",
    "running_pct",
    "cpu_wait_pct",
  ],
};

const number = (cell: Cell | undefined): number | null => (typeof cell === "number" ? cell : null);
const text = (cell: Cell | undefined): string | null => (typeof cell === "string" && cell ? cell : null);
const sum = (rows: Row[], column: string): number =>
  rows.reduce((total, row) => total + (number(row[column]) ?? 0), 0);
const percent = (value: number | null): string => (value === null ? "" : formatQuantity(value, "%"));
const words = (...all: (string | null | false)[]): string => all.filter(Boolean).join(" · ");

/** The minimum size of a core, so that those without entitlement are visible. */
const LEAST = 25;
/** Guests below this share are drawn as one box. */
const FEW = 0.004;

export interface About {
  machine: string | null;
  system: string;
  /** Possible names of the system's partition in PR/SM. */
  partitions: string[];
}

/** Builds the tree of an interval. */
export function tree(moment: Moment, about: About, size: Size): Node {
  const types = [...new Set([...moment.cec, ...moment.partition].map((row) => text(row["cpu_type"])))].filter(
    (type) => type !== null,
  );
  const pools = types.map((type) => pool(type, moment, about, size)).filter((node) => node.children.length);
  if (!pools.length) {
    // Without data of the machine, the tree contains only the system.
    const node = inside(moment, about.system, null, true);
    return { id: "", kind: "machine", name: about.system, weight: 1, word: "", children: node };
  }
  const own = pools.flatMap((node) => node.children).filter((node) => isOwn(node, about));
  const most = own.reduce<Node | null>((a, b) => (a === null || b.weight > a.weight ? b : a), null);
  for (const node of own) {
    const type = text(node.row?.["cpu_type"]) ?? null;
    node.children = inside(moment, node.id, type, node === most);
  }
  return {
    id: "",
    kind: "machine",
    name: about.machine ?? "Machine",
    weight: 1,
    word: "",
    children: pools,
  };
}

const isOwn = (node: Node, about: About): boolean =>
  node.kind === "partition" && about.partitions.includes(node.name);

function pool(type: string, moment: Moment, about: About, size: Size): Node {
  const row = moment.cec.find((row) => row["cpu_type"] === type);
  const rows = moment.partition.filter((row) => row["cpu_type"] === type);
  const entitled = rows.some((row) => number(row["entitlement"]) !== null);
  const children = rows
    .map((row) => partition(type, row, size, entitled))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const [physical, seconds, total, management] = ["physical", "seconds", "total_s", "management_s"].map(
    (name) => number(row?.[name]),
  );
  if (size === "time" && row) {
    if (management) {
      children.push({
        id: `${type}/*PHYSICAL*`,
        kind: "management",
        name: "PR/SM",
        weight: management,
        word: percent(number(row["lpmgt_pct"])),
        table: "cec",
        row,
        children: [],
      });
    }
    const rest = physical && seconds && total !== null ? physical * seconds - total! : 0;
    if (rest > 0) {
      children.push({
        id: `${type}/*`,
        kind: "unused",
        name: "unused",
        weight: rest,
        word: "",
        children: [],
      });
    }
  }
  return {
    id: type,
    kind: "pool",
    name: type,
    weight:
      physical ??
      (size === "time" ? sum(rows, "total_s") : sum(rows, entitled ? "entitlement" : "logical_cpus")),
    busy: number(row?.["phys_total_pct"]),
    word: words(
      physical !== null && physical !== undefined && `${formatShort(physical)} physical`,
      row !== undefined && number(row["lgclc_pct"]) !== null && `LGCLC ${percent(number(row["lgclc_pct"]))}`,
      row !== undefined &&
        number(row["ovrhd_pct"]) !== null &&
        `PR/SM for partitions ${percent(number(row["ovrhd_pct"]))}`,
      row !== undefined &&
        number(row["lpmgt_pct"]) !== null &&
        `for none ${percent(number(row["lpmgt_pct"]))}`,
    ),
    ...(row ? { table: "cec" as const, row } : {}),
    children,
  };
}

function partition(type: string, row: Row, size: Size, entitled: boolean): Node {
  const vertical = ["vh", "vm", "vl"].flatMap((name) => {
    const count = number(row[name]);
    return count ? [`${formatShort(count)} V${name[1]}`] : [];
  });
  const entitlement = number(row["entitlement"]);
  const logical = number(row["logical_cpus"]);
  const capped = row["any_cap"] === true;
  return {
    id: `${type}/${text(row["partition"]) ?? "?"}`,
    kind: "partition",
    name: text(row["partition"]) ?? "?",
    weight:
      (size === "time" ? number(row["total_s"]) : number(row[entitled ? "entitlement" : "logical_cpus"])) ??
      0,
    busy: number(row["total_pct"]),
    word: words(
      row["dedicated"] === true
        ? "dedicated"
        : entitlement !== null
          ? `entitled to ${formatShort(entitlement)}${logical === null ? "" : ` of ${formatShort(logical)}`}`
          : logical !== null && `${formatShort(logical)} logical`,
      vertical.join(" ") || null,
      number(row["total_pct"]) !== null && `busy ${percent(number(row["total_pct"]))}`,
      capped && "capped",
    ),
    capped,
    more: figuresOf(row, ["effective_pct", "phys_lpmgt_pct", "phys_total_pct", "weight"]),
    table: "partition",
    row,
    children: [],
  };
}

/** The contents of a system's partition: cores with threads, and guests. */
function inside(moment: Moment, id: string, type: string | null, main: boolean): Node[] {
  const of = (rows: Row[]): Row[] =>
    rows.filter(
      (row) => type === null || row["cpu_type"] === type || (main && text(row["cpu_type"]) === null),
    );
  const cores = coresOf(of(moment.core), of(moment.cpu), `${id}/cores`);
  const nodes: Node[] = [];
  if (cores.length) {
    nodes.push({
      id: `${id}/cores`,
      kind: "cores",
      name: cores.some((core) => core.children.length) ? "Logical cores" : "Logical processors",
      weight: 0.6,
      word: String(cores.length),
      children: cores,
    });
  }
  const guests = main ? guestsOf(moment.guest, `${id}/guests`) : [];
  if (guests.length) {
    nodes.push({
      id: `${id}/guests`,
      kind: "guests",
      name: "Guests",
      weight: 0.4,
      word: "by CPU time",
      children: guests,
    });
  }
  return nodes;
}

const share = (row: Row): number => Math.max(LEAST, number(row["entitlement_pct"]) ?? 100);
const asleep = (row: Row): boolean => (number(row["parked_pct"]) ?? 0) >= 99.95;

function coresOf(cores: Row[], cpus: Row[], id: string): Node[] {
  const known = new Map(cores.map((row) => [number(row["core_id"]), row]));
  const byCore = new Map<number | null, Row[]>();
  for (const row of cpus) {
    const core = number(row["core_id"]);
    byCore.set(core, [...(byCore.get(core) ?? []), row]);
  }
  const threaded = [...byCore].some(([core, rows]) => core !== null && rows.length > 1) || !cpus.length;
  if (!threaded) return cpus.map((row) => thread(row, id, "CPU")).sort((a, b) => numbered(a) - numbered(b));
  const ids = [...new Set([...known.keys(), ...byCore.keys()])].filter((core) => core !== null);
  return ids
    .sort((a, b) => a - b)
    .map((core) => {
      const threads = (byCore.get(core) ?? []).map((row) => thread(row, `${id}/${core}`, "thread"));
      const row = known.get(core);
      const says = row ?? byCore.get(core)![0]!;
      const parked = asleep(says);
      return {
        id: `${id}/${core}`,
        kind: "core" as const,
        name: `Core ${core}`,
        weight: share(says),
        busy: row ? number(row["core_busy_pct"]) : undefined,
        word: words(
          text(says["polarity"]),
          percent(number(says["entitlement_pct"])) || null,
          parked && "parked",
        ),
        polarity: text(says["polarity"]),
        parked,
        ...(row ? { table: "core" as const, row } : {}),
        children: threads,
      };
    });
}

/** Short texts of some figures. */
const figuresOf = (row: Row, columns: string[]): string[] =>
  columns.flatMap((column) => {
    const value = number(row[column]);
    return value === null
      ? []
      : [`${columnLabel(column)} ${column.endsWith("_pct") ? percent(value) : formatShort(value)}`];
  });

const numbered = (node: Node): number => number(node.row?.["cpu_id"]) ?? 0;

function thread(row: Row, id: string, name: string): Node {
  const parked = asleep(row);
  const alone = name === "CPU";
  return {
    id: `${id}/${number(row["cpu_id"])}`,
    kind: "thread",
    name: cpuLabel(row["cpu_id"]),
    weight: alone ? share(row) : 1,
    busy: parked ? null : number(row["busy_pct"]),
    word: alone
      ? words(
          text(row["polarity"]),
          percent(number(row["entitlement_pct"])) || null,
          parked ? "parked" : number(row["busy_pct"]) !== null && `busy ${percent(number(row["busy_pct"]))}`,
        )
      : parked
        ? "parked"
        : percent(number(row["busy_pct"])),
    polarity: alone ? text(row["polarity"]) : null,
    parked,
    more: parked
      ? []
      : figuresOf(row, ["emulation_pct", "system_pct", "suspend_pct", "wait_pct", "parked_pct"]),
    table: "cpu",
    row,
    children: [],
  };
}

function guestsOf(rows: Row[], id: string): Node[] {
  const total = sum(rows, "cpu_pct");
  if (!(total > 0)) return [];
  const large: Node[] = [];
  const seen = new Set<string>();
  let few = 0;
  let rest = 0;
  for (const row of [...rows].sort((a, b) => (String(a["userid"]) < String(b["userid"]) ? -1 : 1))) {
    const used = number(row["cpu_pct"]) ?? 0;
    const name = text(row["userid"]) ?? "?";
    if (used / total < FEW || seen.has(name)) {
      few += 1;
      rest += used;
      continue;
    }
    seen.add(name);
    const share = number(row["share"]);
    large.push({
      id: `${id}/${name}`,
      kind: "guest",
      name,
      weight: used,
      busy: number(row["running_pct"]),
      word: words(
        percent(number(row["cpu_pct"])) || null,
        share !== null && `${text(row["share_kind"]) ?? "share"} ${formatShort(share)}`,
        text(row["limit_kind"]),
      ),
      more: figuresOf(row, ["running_pct", "cpu_wait_pct", "vcpus"]),
      table: "guest",
      row,
      children: [],
    });
  }
  if (rest > 0) {
    large.push({
      id: `${id}/*`,
      kind: "others",
      name: plural(few, "other guest"),
      weight: rest,
      word: percent(rest),
      children: [],
    });
  }
  return large;
}

/** The path to a node; just the machine if it does not exist. */
export function pathTo(root: Node, id: string | null): Node[] {
  const path: Node[] = [root];
  if (!id) return path;
  for (;;) {
    const here = path.at(-1)!;
    const inner: Node | undefined = here.children.find(
      (child) => id === child.id || id.startsWith(`${child.id}/`),
    );
    if (!inner) return path;
    path.push(inner);
    if (inner.id === id) return path;
  }
}

const STOPS: Kind[] = ["partition", "core", "guests"];

/** The target of a click on a node: the next stop on the path to it. */
export function next(root: Node, here: Node, to: Node): Node | null {
  const path = pathTo(root, to.id);
  const at = path.findIndex((node) => node.id === here.id);
  return path.slice(at + 1).find((node) => STOPS.includes(node.kind) && node.children.length) ?? null;
}

/** The nodes on a path that can be opened. */
export const stops = (path: Node[]): Node[] =>
  path.filter((node) => node.kind === "machine" || STOPS.includes(node.kind));

export interface Placed {
  node: Node;
  box: Box;
  /** Height of the header; 0 for leaves. */
  head: number;
}

const GAP = 3;
const HEAD = 19;

/** The boxes of a node and its descendants that fit, outer ones first. */
export function placed(node: Node, box: Box): Placed[] {
  const room =
    node.children.length > 0 &&
    box.width > 44 &&
    box.height > 40 &&
    node.children.some((child) => child.weight > 0);
  const head = room && node.kind !== "machine" ? HEAD : 0;
  const all: Placed[] = node.kind === "machine" ? [] : [{ node, box, head }];
  if (!room) return all;
  const inner: Box = {
    x: box.x + (head ? GAP : 0),
    y: box.y + head,
    width: box.width - (head ? 2 * GAP : 0),
    height: box.height - head - (head ? GAP : 0),
  };
  const boxes = strips(
    node.children.map((child) => child.weight),
    inner,
  );
  node.children.forEach((child, at) => {
    const { x, y, width, height } = boxes[at]!;
    if (width < 3 || height < 3) return;
    all.push(...placed(child, { x: x + 1, y: y + 1, width: width - 2, height: height - 2 }));
  });
  return all;
}

/** Tooltip of a node: all columns of its row at full precision. */
export function describe(node: Node, unit: (table: Table, column: string) => string | null): string[] {
  const head = words(node.name, node.word);
  if (!node.table || !node.row) return [head];
  const lines = COLUMNS[node.table].flatMap((column) => {
    const value = node.row![column];
    if (value === undefined || value === null || value === "" || column === "seconds") return [];
    const name = columnLabel(column);
    if (typeof value === "number") return [reading(name, value, unit(node.table!, column))];
    return [`${name}: ${value === true ? "yes" : value === false ? "no" : value}`];
  });
  return [head, ...lines];
}

/** Returns the index of the last time not after `at`; of the last time if `at` is null. */
export function nearest(times: readonly number[], at: number | null): number {
  if (at === null) return times.length - 1;
  let index = 0;
  for (let n = 0; n < times.length && times[n]! <= at + 0.5; n += 1) index = n;
  return index;
}

/**
 * Assigns rows to intervals: other systems' intervals may end slightly earlier or later, and the closest
 * of shorter intervals is used.
 */
export function rowsByMoment(rows: Row[], times: readonly number[], width: number): Map<number, Row[]> {
  const frames = new Map<number, { off: number; rows: Row[] }>();
  for (const row of rows) {
    const t = number(row["t"]);
    if (t === null) continue;
    let at = -1;
    let off = width / 2;
    times.forEach((time, n) => {
      if (Math.abs(time - t) > off) return;
      off = Math.abs(time - t);
      at = n;
    });
    if (at < 0) continue;
    const known = frames.get(at);
    if (!known || off < known.off - 0.5) frames.set(at, { off, rows: [row] });
    else if (off <= known.off + 0.5) known.rows.push(row);
  }
  return new Map([...frames].map(([at, frame]) => [at, frame.rows]));
}
