import { expect, test } from "vitest";
import { degree, latestShare, layout } from "./link-map";
import type { MeasuredLink } from "./types";

function link(source: string, target: string | undefined, share: number | null = 0.5): MeasuredLink {
  const load = { window_start_ns: 0, window_end_ns: 2, partial: false, query: "q-1", state: "running" as const, processor: 0 };
  return {
    switch: source,
    port: target === undefined ? undefined : `to-${target}`,
    neighbour: target,
    loads: [
      { ...load, field: "share", statistic: "max", value: share },
      { ...load, field: "share", statistic: "max", value: 1, window_end_ns: 1 },
      { ...load, field: "bits_per_second", statistic: "max", value: 7, window_end_ns: 3 },
    ],
  };
}

test("a switch's row is its distance from the hosts", () => {
  const map = layout([
    link("leaf2", "h10", 0.1),
    link("leaf1", "h2", 0.95),
    link("leaf1", "spine"),
    link("spine", "leaf1", null),
    link("spine", "leaf2"),
    link("leaf1", "spine", 0.2),
    link("leaf3", undefined),
  ]);
  const placed = map.places.map(({ name, level, column }) => [name, level, column]);
  expect(placed.sort()).toEqual([
    ["h10", 0, 1.5],
    ["h2", 0, 0.5],
    ["leaf1", 1, 0.5],
    ["leaf2", 1, 1.5],
    ["spine", 2, 1],
  ]);
  expect(map.levels).toBe(3);
  const shares = map.directions.map(({ from, to, share }) => `${from.name} ${to.name} ${share}`);
  expect(shares.sort()).toEqual([
    "leaf1 h2 0.95",
    "leaf1 spine 0.5",
    "leaf2 h10 0.1",
    "spine leaf1 null",
    "spine leaf2 0.5",
  ]);
});

test("a ring of switches without hosts is one row, and links without known ends give no map", () => {
  const ring = layout([link("a", "b"), link("b", "c"), link("c", "a")]);
  expect(ring.places.map(({ level }) => level)).toEqual([1, 1, 1]);
  expect(layout([link("a", undefined)]).directions).toEqual([]);
});

test("switches at the ends of measured uplinks are in a row above", () => {
  const map = layout([link("edge1", "agg1"), link("edge2", "agg1"), link("edge2", "agg2")]);
  expect(map.places.filter(({ level }) => level === 2).map(({ name }) => name)).toEqual(["agg1", "agg2"]);
  expect(map.places.filter(({ level }) => level === 1)).toHaveLength(2);
});

test("the latest share decides the colour", () => {
  expect(latestShare(link("a", "b", 0.7))).toBe(0.7);
  expect(latestShare({ switch: "a", loads: [] })).toBeNull();
  expect([null, 0, 0.3, 0.69, 0.7, 0.9, 1.2].map(degree)).toEqual(["unknown", "low", "medium", "medium", "high", "full", "full"]);
});
