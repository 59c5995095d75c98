import { beforeAll, expect, test, vi } from "vitest";

vi.stubGlobal("matchMedia", () => ({ addEventListener: () => undefined }));
let charts: typeof import("./charts");

beforeAll(async () => {
  charts = await import("./charts");
});

test("omitted empty buckets are included", () => {
  const bounds = (...les: number[]) => charts.allBounds(les.map((le) => ({ le, count: 1 })));
  expect(bounds(0)).toEqual([0]);
  expect(bounds(1)).toEqual([0, 1]);
  expect(bounds(0, 1, 2)).toEqual([0, 1, 2]);
  expect(bounds(0, 24576, 32768)).toEqual([0, 16384, 24576, 32768]);
  expect(bounds(2, 16)).toEqual([1, 2, 3, 4, 6, 8, 12, 16]);
  expect(bounds(24576, 32768)).toEqual([16384, 24576, 32768]);
});

test("points of partial windows are hollow", () => {
  const values = [[1, null, 3], [4, 5, 6]];
  expect(charts.ofPartial(values, [true, true, false])).toEqual([[1, null, null], [4, 5, null]]);
});

test("a distribution function ends at one", () => {
  expect(charts.shares([0, 1, 3, 0, 4])).toEqual([0, 0.125, 0.5, 0.5, 1]);
});

test("the distribution of no values is empty, not zero", () => {
  expect(charts.allBounds([])).toEqual([0]);
  expect(charts.shares([0])).toEqual([null]);
});
