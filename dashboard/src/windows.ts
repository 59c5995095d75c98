/** The state of a query's windows, per processor: the rows of the latest window, a history of the leading values, and
 * the latest alerts. The state stays in the worker; the snapshots for the page are small even if a window has many
 * groups. */
import { keyText } from "./format";
import type { Completeness, Distribution, Exemplar, Row, Window } from "./types";

const HISTORY = 300;
const HISTORY_KEYS = 50;
const LINES = 6;
const ALERTS = 500;

export type SortColumn = "order" | "key" | "value" | "count" | "p50" | "p99" | "max" | "unanswered" | "half_seen" | `details.${string}`;

/** The rows that the user views. */
export interface View {
  from: number;
  to: number;
  sort: SortColumn;
  descending: boolean;
  filter: string;
  /** Key text of the row whose details are requested; empty for the first row. */
  selected: string;
}

export interface RowSummary {
  id: string;
  rank?: number;
  key: string;
  value: number | null;
  unanswered?: number;
  half_seen?: number;
  low?: number | null;
  high?: number | null;
  tied?: boolean;
  alert?: Row["alert"];
  endNs?: number;
  distribution?: Omit<Distribution, "histogram">;
  /** The numbers that an aggregate shows in addition to its value. */
  details?: Record<string, number | null>;
}

export interface Series {
  /** Ends of windows, in seconds. */
  times: number[];
  names: string[];
  values: (number | null)[][];
  /** For each window, true if part of it was not monitored. */
  partial: boolean[];
}

export interface Detail {
  id: string;
  key: Record<string, unknown>;
  value: number | null;
  distribution?: Distribution;
  exemplars: Exemplar[];
  startNs: number;
  endNs: number;
}

export interface Snapshot {
  processor: number;
  name: string;
  startNs: number;
  endNs: number;
  windows: number;
  partial: boolean;
  completeness: Completeness;
  /** Number of all rows, and of those that pass the view's filter. */
  rows: number;
  matching: number;
  from: number;
  visible: RowSummary[];
  largest: number;
  series: Series;
  detail: Detail | null;
}

interface Entry {
  row: Row;
  id: string;
  endNs: number;
  startNs: number;
}

export const USUAL_VIEW: View = { from: 0, to: 50, sort: "order", descending: false, filter: "", selected: "" };

export class ProcessorWindows {
  view: View = USUAL_VIEW;
  private latest: Window | null = null;
  private entries: Entry[] = [];
  private sorted: Entry[] | null = null;
  private count = 0;
  private readonly history: { endNs: number; values: Map<string, number>; partial: boolean }[] = [];

  add(window: Window): void {
    this.count++;
    this.latest = window;
    const alerts = window.rows.some((row) => row.alert !== undefined);
    const added = window.rows.map((row) => entryOf(row, window));
    this.entries = alerts ? [...added, ...this.entries].slice(0, ALERTS) : added;
    this.sorted = null;
    this.remember(window);
  }

  private remember(window: Window): void {
    const leading = window.rows.length <= HISTORY_KEYS ? window.rows : leadingRows(window.rows);
    const values = new Map<string, number>();
    for (const row of leading) if (row.value !== null) values.set(keyText(row.key), row.value);
    if (this.history.at(-1)?.endNs === window.window_end_ns) this.history.pop();
    this.history.push({ endNs: window.window_end_ns, values, partial: isPartial(window) });
    if (this.history.length > HISTORY) this.history.shift();
  }

  snapshot(): Snapshot | null {
    const window = this.latest;
    if (window === null) return null;
    const sorted = (this.sorted ??= this.sortedEntries());
    const first = Math.min(this.view.from, Math.max(0, sorted.length - 1));
    return {
      processor: window.processor,
      name: window.name,
      startNs: window.window_start_ns,
      endNs: window.window_end_ns,
      windows: this.count,
      partial: isPartial(window),
      completeness: window.completeness,
      rows: this.entries.length,
      matching: sorted.length,
      from: first,
      visible: sorted.slice(first, this.view.to).map(summary),
      largest: this.entries.reduce((max, { row }) => Math.max(max, row.value ?? 0), 0),
      series: this.series(),
      detail: this.detail(sorted),
    };
  }

  look(view: View): void {
    const same = view.sort === this.view.sort && view.descending === this.view.descending && view.filter === this.view.filter;
    if (!same) this.sorted = null;
    this.view = view;
  }

  private sortedEntries(): Entry[] {
    const wanted = this.view.filter.toLowerCase();
    const kept = wanted === "" ? [...this.entries] : this.entries.filter(({ id }) => id.toLowerCase().includes(wanted));
    const { sort, descending } = this.view;
    if (sort === "order") return descending ? kept.reverse() : kept;
    const sign = descending ? -1 : 1;
    if (sort === "key") return kept.sort((a, b) => sign * (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
    return kept.sort((a, b) => compare(numberOf(a.row, sort), numberOf(b.row, sort), sign));
  }

  private detail(sorted: Entry[]): Detail | null {
    const wanted = this.view.selected;
    const entry = (wanted === "" ? undefined : this.entries.find(({ id }) => id === wanted)) ?? (wanted === "" ? sorted[0] : undefined);
    if (entry === undefined) return null;
    const { row, id, startNs, endNs } = entry;
    return { id, key: row.key, value: row.value, distribution: row.distribution, exemplars: row.exemplars ?? [], startNs, endNs };
  }

  /** Returns the lines of the currently leading keys, with a gap in each window that lacks the key. */
  private series(): Series {
    const now = this.history.at(-1)?.values ?? new Map<string, number>();
    const names = [...now.entries()].sort((a, b) => b[1] - a[1]).slice(0, LINES).map(([name]) => name);
    return {
      times: this.history.map(({ endNs }) => endNs / 1e9),
      names,
      values: names.map((name) => this.history.map(({ values }) => values.get(name) ?? null)),
      partial: this.history.map(({ partial }) => partial),
    };
  }
}

function isPartial(window: Window): boolean {
  return window.rows.some((row) => row.partial === true);
}

function leadingRows(rows: Row[]): Row[] {
  if (rows[0].rank !== undefined) return rows.slice(0, HISTORY_KEYS);
  return [...rows].sort((a, b) => compare(a.value, b.value, -1)).slice(0, HISTORY_KEYS);
}

/** Sorts unknown values last, regardless of the direction. */
function compare(a: number | null, b: number | null, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return sign * (a - b);
}

function entryOf(row: Row, window: Window): Entry {
  const key = keyText(row.key);
  const id = row.alert === undefined ? key : `${key} ${row.alert.state} ${window.window_end_ns}`;
  return { row, id, startNs: window.window_start_ns, endNs: window.window_end_ns };
}

function numberOf(row: Row, sort: SortColumn): number | null {
  const distribution = row.distribution;
  if (sort.startsWith("details.")) return detailsOf(row)?.[sort.slice("details.".length)] ?? null;
  switch (sort) {
    case "count": return distribution?.count ?? 0;
    case "p50": return distribution?.p50 ?? null;
    case "p99": return distribution?.p99 ?? null;
    case "max": return distribution?.max ?? null;
    case "unanswered": return row.unanswered ?? 0;
    case "half_seen": return row.half_seen ?? 0;
    default: return row.value;
  }
}

/** Returns the numeric details; the table does not show histograms. */
function detailsOf({ details }: Row): Record<string, number | null> | undefined {
  if (details === undefined) return undefined;
  const numbers = Object.entries(details).filter(([, value]) => value === null || typeof value === "number");
  return Object.fromEntries(numbers) as Record<string, number | null>;
}

function summary({ row, id, endNs }: Entry): RowSummary {
  const { rank, value, unanswered, half_seen, low, high, tied, alert, distribution } = row;
  const all: RowSummary = { id, key: keyText(row.key), rank, value, unanswered, half_seen, low, high, tied, alert, endNs };
  if (distribution !== undefined) {
    const { histogram: _, ...numbers } = distribution;
    all.distribution = numbers;
  }
  all.details = detailsOf(row);
  return all;
}
