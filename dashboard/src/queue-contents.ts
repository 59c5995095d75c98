/** The contents of a queue over time by flow, from the results of queries. */
import { keyText } from "./format";
import type { Exemplar, PlanProcessor, Query, Row } from "./types";

/** Maximum number of flows with a separate colour; the others are shown together. */
const MAX_FLOWS = 6;
const MAX_SLOTS = 120;

/** A query whose results contain the number of bytes that each flow has in a queue. */
export interface Source {
  query: Query;
  /** Index of the processor with the bytes of each flow. */
  flows: number;
  /** Index of the processor with the bytes of the whole queue; null if the query has none. */
  depth: number | null;
  /** Time from one window to the next. */
  stepNs: number;
}

/** Returns the query as a source; null if it does not measure the contents of the queue by flow. */
export function sourceOf(query: Query, queue: string): Source | null {
  const named = (query.plan.queues ?? []).map((queue) => `${queue.switch_name}:${queue.port}`);
  if (named.length > 0 && !named.includes(queue)) return null;
  // Only a query that measures a single queue may leave the queue out of the key.
  const fits = (processor: PlanProcessor) => named.length === 1 || (processor.key ?? []).includes("queue");
  const flows = query.plan.processors.findIndex((processor) => isMaximum(processor, "queued_bytes") && processor.key?.includes("dst_ip") && fits(processor));
  if (flows < 0) return null;
  const step = query.plan.processors[flows].window?.slide;
  const depth = query.plan.processors.findIndex(
    (processor) => isMaximum(processor, "queue_bytes") && (processor.key ?? []).every((field) => field === "queue") && fits(processor) && processor.window?.slide === step,
  );
  return { query, flows, depth: depth < 0 ? null : depth, stepNs: Number.parseFloat(step ?? "0") * 1e9 };
}

function isMaximum(processor: PlanProcessor, field: string): boolean {
  return processor.value?.field === field && processor.aggregate === "MAX" && processor.window?.slide !== undefined;
}

export interface WindowRow extends Row {
  window_start_ns: number;
  window_end_ns: number;
}

export interface Layer {
  flow: string;
  key: Row["key"];
  /** Maximum number of the flow's bytes in the queue when one of its packets arrived. */
  bytes: number;
  /**
   * The flow's bytes, scaled down if the flows' maxima, which may occur at different times, add up to more than the
   * depth.
   */
  height: number;
  exemplars: Exemplar[];
}

/** The contents of the queue in one window. */
export interface Column {
  startNs: number;
  endNs: number;
  /** Maximum number of bytes in the queue when a packet arrived; null if unknown. */
  depth: number | null;
  layers: Layer[];
  /** Bytes of the depth that are in no layer; null if the depth is unknown. */
  other: number | null;
  partial: boolean;
}

/** A window, or null for a gap. */
export type Slot = Column | null;

export interface Contents {
  slots: Slot[];
  /** Names of the flows with a colour, the largest first. */
  flows: string[];
}

/**
 * Stacks the flows of each window up to the queue's depth.
 *
 * @param depths null if the query does not report the depth; columns then have only the flows
 */
export function contentsOf(queue: string, stepNs: number, flows: WindowRow[], depths: WindowRow[] | null): Contents {
  const ofQueue = (row: Row) => row.key.queue === undefined || row.key.queue === queue;
  const columns = new Map<number, Column>();
  for (const row of flows.filter(ofQueue)) {
    const column = columnOf(columns, row);
    if (row.value !== null) column.layers.push({ flow: nameOf(row.key), key: row.key, bytes: row.value, height: row.value, exemplars: row.exemplars ?? [] });
  }
  for (const row of (depths ?? []).filter(ofQueue)) columnOf(columns, row).depth = row.value;
  const ends = [...columns.keys()].sort((a, b) => a - b);
  const slots = spread(ends, stepNs).map((end) => (end === null ? null : columns.get(end)!));
  const leading = leadingFlows(slots);
  for (const column of slots) if (column !== null) stack(column, leading);
  return { slots: slots.map((column) => (column === null || (depths !== null && column.depth === null) ? null : column)), flows: leading };
}

function columnOf(columns: Map<number, Column>, row: WindowRow): Column {
  const column = columns.get(row.window_end_ns) ?? { startNs: row.window_start_ns, endNs: row.window_end_ns, depth: null, layers: [], other: null, partial: false };
  column.partial ||= row.partial === true;
  columns.set(row.window_end_ns, column);
  return column;
}

/** Returns the ends of the latest windows, with null for each missing one between two others. */
function spread(ends: number[], stepNs: number): (number | null)[] {
  const all: (number | null)[] = [];
  for (let i = ends.length - 1; i >= 0 && all.length < MAX_SLOTS; i--) {
    all.unshift(ends[i]);
    const missing = i === 0 || stepNs <= 0 ? 0 : Math.round((ends[i] - ends[i - 1]) / stepNs) - 1;
    for (let gap = 0; gap < missing && all.length < MAX_SLOTS; gap++) all.unshift(null);
  }
  while (all.length > 0 && all[0] === null) all.shift();
  return all;
}

function leadingFlows(slots: Slot[]): string[] {
  const max = new Map<string, number>();
  for (const column of slots) for (const { flow, bytes } of column?.layers ?? []) max.set(flow, Math.max(max.get(flow) ?? 0, bytes));
  return [...max].sort((a, b) => b[1] - a[1]).slice(0, MAX_FLOWS).map(([flow]) => flow);
}

function stack(column: Column, leading: string[]): void {
  const sum = column.layers.reduce((bytes, layer) => bytes + layer.bytes, 0);
  const scale = column.depth !== null && sum > column.depth ? column.depth / sum : 1;
  for (const layer of column.layers) layer.height = layer.bytes * scale;
  column.layers = column.layers.filter(({ flow }) => leading.includes(flow)).sort((a, b) => leading.indexOf(a.flow) - leading.indexOf(b.flow));
  const shown = column.layers.reduce((bytes, layer) => bytes + layer.height, 0);
  column.other = column.depth === null ? null : Math.max(0, column.depth - shown);
}

/** Returns a flow's name: its source and destination, with ports if the query distinguishes them. */
export function nameOf(key: Row["key"]): string {
  const side = (endpointOf: string) => endpoint(key[`${endpointOf}_ip`], key[`${endpointOf}_port`]);
  const { queue: _, ...others } = key;
  if (key.dst_ip === undefined) return keyText(others);
  return key.src_ip === undefined ? `> ${side("dst")}` : `${side("src")} > ${side("dst")}`;
}

function endpoint(address: unknown, port: unknown): string {
  if (port === undefined || port === null) return String(address);
  return String(address).includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Returns the filter that selects a flow's packets in drill-down: those in its direction through the queue. */
export function filterOf(key: Row["key"]): string {
  const terms = ["src", "dst"].flatMap((side) => {
    const address = key[`${side}_ip`];
    const port = key[`${side}_port`];
    return [
      ...(address === undefined ? [] : [`${side}_ip${String(address).includes(":") ? "6" : ""} == ${address}`]),
      ...(port === undefined || port === null ? [] : [`${side}_port == ${port}`]),
    ];
  });
  return terms.join(" && ");
}

/** Returns a query for all data on a queue's page: the queue's depth, flows and bursts. */
export function queryFor(queue: string): string {
  return (
    "PARSE queue_depth(every=100ms), queue_flows(delay=0ms, every=100ms), queue_burst(delay=1ms)\n" +
    `FROM * TO * AT ${queue}\nLIMIT 1h SAMPLE *\n` +
    "PROCESS (top-k: key=(src_ip, src_port, dst_ip, dst_port), by=queued_bytes, k=10, w=100ms, s=100ms),\n" +
    "        (group-max: group=queue, by=queue_bytes, w=100ms, s=100ms)"
  );
}
