import { expect, test } from "vitest";
import { contentsOf, filterOf, nameOf, queryFor, sourceOf, type WindowRow } from "./queue-contents";
import type { PlanProcessor, Query } from "./types";

const MS = 1e6;

function row(end: number, key: WindowRow["key"], value: number | null, partial = false): WindowRow {
  return { window_start_ns: end - 100 * MS, window_end_ns: end, key, value, partial };
}

function flow(end: number, port: number, value: number | null): WindowRow {
  return row(end, { src_ip: "10.0.0.1", src_port: port, dst_ip: "10.0.0.2", dst_port: 80 }, value);
}

function depth(end: number, value: number | null, queue = "s1:2"): WindowRow {
  return row(end, { queue }, value);
}

test("a stack is as high as the queue, and other flows are the rest", () => {
  const { slots, flows } = contentsOf("s1:2", 100 * MS, [flow(1e9, 1, 600), flow(1e9, 2, 300)], [depth(1e9, 1000), depth(1e9, 7, "s1:3")]);
  expect(flows).toEqual(["10.0.0.1:1 > 10.0.0.2:80", "10.0.0.1:2 > 10.0.0.2:80"]);
  expect(slots).toHaveLength(1);
  expect(slots[0]!.depth).toBe(1000);
  expect(slots[0]!.layers.map(({ bytes, height }) => [bytes, height])).toEqual([[600, 600], [300, 300]]);
  expect(slots[0]!.other).toBe(100);
});

test("maxima of different packets are scaled to the depth", () => {
  const [column] = contentsOf("s1:2", 100 * MS, [flow(1e9, 1, 900), flow(1e9, 2, 300)], [depth(1e9, 1000)]).slots;
  expect(column!.layers.map(({ bytes, height }) => [bytes, height])).toEqual([[900, 750], [300, 250]]);
  expect(column!.other).toBe(0);
});

test("flows beyond the sixth are other flows", () => {
  const rows = [1, 2, 3, 4, 5, 6, 7, 8].map((port) => flow(1e9, port, 100 * port));
  const { slots, flows } = contentsOf("s1:2", 100 * MS, rows, [depth(1e9, 4000)]);
  expect(flows).toHaveLength(6);
  expect(slots[0]!.layers.map(({ bytes }) => bytes)).toEqual([800, 700, 600, 500, 400, 300]);
  expect(slots[0]!.other).toBe(4000 - 3300);
});

test("a window that is missing, and one whose depth is unknown, are gaps", () => {
  const flows = [flow(1e9, 1, 500), flow(1e9 + 400 * MS, 1, 700), flow(1e9 + 500 * MS, 1, null)];
  const { slots } = contentsOf("s1:2", 100 * MS, flows, [depth(1e9, 500), depth(1e9 + 400 * MS, null), depth(1e9 + 500 * MS, 90)]);
  expect(slots.map((slot) => slot && [slot.layers.length, slot.depth, slot.other])).toEqual([[1, 500, 0], null, null, null, null, [0, 90, 90]]);
});

test("without the depth, only the flows are stacked", () => {
  const [column] = contentsOf("s1:2", 100 * MS, [flow(1e9, 1, 500)], null).slots;
  expect([column!.depth, column!.other, column!.layers[0].height]).toEqual([null, null, 500]);
});

test("only the latest windows are kept, regardless of the length of a gap", () => {
  const { slots } = contentsOf("s1:2", 100 * MS, [flow(1e9, 1, 1), flow(1e15, 1, 2)], null);
  expect(slots.map((slot) => slot?.endNs)).toEqual([1e15]);
});

function query(queues: string[], ...processors: PlanProcessor[]): Query {
  const entries = queues.map((name) => ({ switch_name: name.split(":")[0], port: name.split(":")[1] }));
  return { id: "q-1", text: "", state: "running", submitted_ns: 1, started_ns: 1, ended_ns: 0, error: "", notes: [], totals: {}, plan: { query: "q-1", queues: entries, processors } };
}

const FLOWS: PlanProcessor = { name: "top-k", parser: "queue_flows", key: ["src_ip", "dst_ip"], value: { field: "queued_bytes" }, aggregate: "MAX", window: { size: "0.100s", slide: "0.100s" } };
const DEPTH: PlanProcessor = { name: "group-max", parser: "queue_depth", key: ["queue"], value: { field: "queue_bytes" }, aggregate: "MAX", window: { size: "0.100s", slide: "0.100s" } };

test("a query is a source if it has the bytes of flows of this queue", () => {
  expect(sourceOf(query(["s1:2"], FLOWS, DEPTH), "s1:2")).toMatchObject({ flows: 0, depth: 1, stepNs: 100 * MS });
  expect(sourceOf(query(["s1:2"], DEPTH, FLOWS), "s1:2")).toMatchObject({ flows: 1, depth: 0 });
  expect(sourceOf(query(["s1:2"], FLOWS, { ...DEPTH, window: { size: "1s", slide: "1s" } }), "s1:2")).toMatchObject({ flows: 0, depth: null });
  expect(sourceOf(query(["s1:3"], FLOWS, DEPTH), "s1:2")).toBeNull();
  expect(sourceOf(query(["s1:2"], DEPTH), "s1:2")).toBeNull();
  expect(sourceOf(query(["s1:2"], { ...FLOWS, aggregate: "MIN" }), "s1:2")).toBeNull();
});

test("flows of several queues must be distinguished by queue", () => {
  expect(sourceOf(query(["s1:2", "s1:3"], FLOWS, DEPTH), "s1:2")).toBeNull();
  expect(sourceOf(query([], { ...FLOWS, key: ["queue", "dst_ip"] }, DEPTH), "s1:2")).toMatchObject({ flows: 0, depth: 1 });
});

test("flows have names and filters", () => {
  expect(nameOf({ queue: "s1:2", src_ip: "10.0.0.1", dst_ip: "10.0.0.2" })).toBe("10.0.0.1 > 10.0.0.2");
  expect(nameOf({ dst_ip: "fe80::1", dst_port: 80 })).toBe("> [fe80::1]:80");
  expect(filterOf({ src_ip: "10.0.0.1", src_port: 1, dst_ip: "10.0.0.2", dst_port: 2 })).toBe("src_ip == 10.0.0.1 && src_port == 1 && dst_ip == 10.0.0.2 && dst_port == 2");
  expect(filterOf({ queue: "s1:2", src_ip: "fe80::1", dst_ip: "fe80::2" })).toBe("src_ip6 == fe80::1 && dst_ip6 == fe80::2");
  expect(queryFor("leaf1:3")).toContain("AT leaf1:3\n");
});
