import { expect, test } from "vitest";
import type { Row, Window } from "./types";
import { ProcessorWindows, USUAL_VIEW } from "./windows";

function window(end: number, values: Record<string, number>, more: Partial<Row> = {}): Window {
  return {
    processor: 0,
    name: "top-k",
    window_start_ns: (end - 1) * 1e9,
    window_end_ns: end * 1e9,
    rows: Object.entries(values).map(([url, value], index) => ({ rank: index + 1, key: { url }, value, ...more })),
    completeness: { sampling_rate: 1, packets_in: 1, dropped: {}, late: 0 },
  };
}

test("rows are those of the latest window, lines those of its leading groups", () => {
  const windows = new ProcessorWindows();
  expect(windows.snapshot()).toBeNull();
  windows.add(window(1, { "/a": 5, "/b": 2 }));
  windows.add(window(2, { "/b": 9 }));
  const snapshot = windows.snapshot()!;
  expect(snapshot.visible.map(({ key, value }) => [key, value])).toEqual([["/b", 9]]);
  expect(snapshot.series).toEqual({ times: [1, 2], names: ["/b"], values: [[2, 9]], partial: [false, false] });
  expect(snapshot.windows).toBe(2);
});

test("windows that were only partly watched are marked", () => {
  const windows = new ProcessorWindows();
  windows.add(window(1, { "/a": 1, "/b": 2 }, { partial: true }));
  expect(windows.snapshot()).toMatchObject({ partial: true, series: { partial: [true] } });
  windows.add(window(2, { "/a": 3 }));
  expect(windows.snapshot()).toMatchObject({ partial: false, series: { partial: [true, false] } });
});

test("a key that is missing in a window is a gap", () => {
  const windows = new ProcessorWindows();
  windows.add(window(1, { "/b": 2 }));
  windows.add(window(2, { "/a": 5 }));
  expect(windows.snapshot()!.series.values).toEqual([[null, 5]]);
});

function mixed(end: number): Window {
  const sample = window(end, { "/a": 5, "/b": 2, "/c": 7 });
  sample.rows[0] = { ...sample.rows[0], unanswered: 3 };
  sample.rows.push({ key: { url: "/dead" }, value: null, unanswered: 9, half_seen: 1 });
  sample.rows.push({ key: { url: "/deaf" }, value: null, unanswered: 1 });
  for (const row of sample.rows) delete row.rank;
  return sample;
}

test("groups without a value come last in either sort order", () => {
  const windows = new ProcessorWindows();
  windows.add(mixed(1));
  const keys = (descending: boolean, sort: "value" | "unanswered" = "value") => {
    windows.look({ ...USUAL_VIEW, sort, descending });
    return windows.snapshot()!.visible.map(({ key }) => key);
  };
  expect(keys(true)).toEqual(["/c", "/a", "/b", "/dead", "/deaf"]);
  expect(keys(false)).toEqual(["/b", "/a", "/c", "/dead", "/deaf"]);
  expect(keys(true, "unanswered").slice(0, 3)).toEqual(["/dead", "/a", "/deaf"]);
  expect(windows.snapshot()!.visible[0]).toMatchObject({ value: null, unanswered: 9, half_seen: 1 });
});

test("a group without a value is a gap in its line, not zero", () => {
  const windows = new ProcessorWindows();
  windows.add(window(1, { "/a": 5 }));
  windows.add({ ...window(2, {}), rows: [{ key: { url: "/a" }, value: null, unanswered: 4 }] });
  windows.add(window(3, { "/a": 6 }));
  expect(windows.snapshot()!.series).toMatchObject({ times: [1, 2, 3], names: ["/a"], values: [[5, null, 6]] });
});

test("a page of ten thousand groups, sorted and filtered", () => {
  const windows = new ProcessorWindows();
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`/${i}`, (i * 7919) % 10_007]));
  windows.add(window(1, many));
  windows.look({ ...USUAL_VIEW, from: 100, to: 103, sort: "value", descending: true });
  const sorted = Object.values(many).sort((a, b) => b - a);
  expect(windows.snapshot()!.visible.map(({ value }) => value)).toEqual(sorted.slice(100, 103));
  windows.look({ ...USUAL_VIEW, filter: "/999" });
  expect(windows.snapshot()).toMatchObject({ rows: 10_000, matching: 11 });
  expect(windows.snapshot()!.visible).toHaveLength(11);
});

test("the selected row's details follow its key", () => {
  const windows = new ProcessorWindows();
  const exemplar = { flow_id: "0011223344556677-00000001" } as never;
  windows.add(window(1, { "/a": 1, "/b": 2 }, { exemplars: [exemplar] }));
  windows.look({ ...USUAL_VIEW, selected: "/b" });
  expect(windows.snapshot()!.detail).toMatchObject({ id: "/b", key: { url: "/b" }, exemplars: [exemplar] });
  windows.add(window(2, { "/a": 1 }));
  expect(windows.snapshot()!.detail).toBeNull();
});

test("alerts of earlier windows are kept, the latest first", () => {
  const windows = new ProcessorWindows();
  const alert = (state: "raised" | "cleared") => ({ alert: { id: "x", state, severity: "warning", since_ns: 1 } });
  windows.add(window(1, { "/a": 1 }, alert("raised")));
  windows.add(window(2, { "/a": 0 }, alert("cleared")));
  expect(windows.snapshot()!.visible.map(({ alert }) => alert!.state)).toEqual(["cleared", "raised"]);
});

test("details of an aggregate are kept and sortable, except histograms", () => {
  const windows = new ProcessorWindows();
  const sample = window(1, { "/a": 5, "/b": 2, "/c": 7 });
  sample.rows[0] = { ...sample.rows[0], details: { least: 1, most: 6, histogram: [] } };
  sample.rows[1] = { ...sample.rows[1], details: { least: 3, most: 5 } };
  windows.look({ ...USUAL_VIEW, sort: "details.least", descending: true });
  windows.add(sample);
  const { visible } = windows.snapshot()!;
  expect(visible.map(({ key }) => key)).toEqual(["/b", "/a", "/c"]);
  expect(visible.map(({ details }) => details)).toEqual([{ least: 3, most: 5 }, { least: 1, most: 6 }, undefined]);
});
