import { readFileSync } from "node:fs";
import { beforeAll, expect, test, vi } from "vitest";
import { processorText } from "./plan";
import type { Column } from "./virtual-table";
import type { PlanProcessor, Row } from "./types";
import { ProcessorWindows } from "./windows";

vi.stubGlobal("matchMedia", () => ({ addEventListener: () => undefined }));
let card: typeof import("./processor-card");

beforeAll(async () => {
  card = await import("./processor-card");
});

const titles = (columns: Column[]) => columns.map(({ title }) => title);

/** Returns the tutorial's row, which AggregateTutorialTest compares with the program's output. */
function tutorialRow(): Row {
  const page = readFileSync(new URL("../../docs/tutorials/write-a-processor.md", import.meta.url), "utf8");
  const [, row] = /<!-- row -->\n```json\n([^]*?)```/.exec(page)!;
  return JSON.parse(row) as Row;
}

test("an unknown aggregate has a column for its value and for each detail", () => {
  const plan: PlanProcessor = { name: "range", parser: "http_get", key: ["status"], value: { field: "response_time_ns", unit: "ns" }, aggregate: "RANGE" };
  const row = tutorialRow();
  const windows = new ProcessorWindows();
  const completeness = { sampling_rate: 1, packets_in: 1, dropped: {}, late: 0 };
  windows.add({ processor: 0, name: "range", window_start_ns: 0, window_end_ns: 1e9, rows: [row], completeness });
  const snapshot = windows.snapshot()!;
  const [shown] = snapshot.visible;
  expect(card.detailNames(snapshot)).toEqual(["least", "most"]);
  expect(titles(card.columnsOf(plan, card.detailNames(snapshot)))).toEqual(["status", "range", "between", "least", "most"]);
  expect(shown.value).toBe(row.value);
  expect(card.detailText(shown, "least", "ns")).toBe("64 µs");
  expect(card.detailText(shown, "most", "ns")).toBe("210 ms");
});

test("a count among the details has no unit, and one that is missing in a row is not zero", () => {
  const row = { id: "a", key: "a", value: 1, details: { count: 5, most: null } };
  expect(card.detailText(row, "count", "ns")).toBe("5");
  expect(card.detailText(row, "most", "ns")).toBe(card.detailText(row, "least", "ns"));
  expect(card.detailText(row, "most", "ns")).not.toContain("0");
});

test("processors without details have the columns of their kind", () => {
  const titlesOf = (more: Partial<PlanProcessor>): string[] => titles(card.columnsOf({ name: "x", parser: "http_get", ...more }));
  expect(titlesOf({ ranking: { k: 3 } })).toEqual(["#", "group", "count", "between"]);
  expect(titlesOf({ aggregate: "DISTRIBUTION", key: ["url", "status"] })).toEqual(["url · status", "mean", "count", "p50", "p99", "max"]);
  expect(titlesOf({ answers: true })).toEqual(["group", "count", "between", "unanswered", "half seen"]);
});

test("a count of tuples that meet a condition shows the condition in its title and in the plan", () => {
  const plan: PlanProcessor = { name: "top-k", key: ["url"], value: { condition_text: "status >= 500", unit: "count" }, aggregate: "SUM" };
  expect(titles(card.columnsOf(plan, []))).toContain("count status >= 500");
  expect(processorText(plan)).toContain("count of status >= 500 by url");
  const share: PlanProcessor = { ...plan, aggregate: "AVG" };
  expect(titles(card.columnsOf(share, []))).toContain("share status >= 500");
  expect(processorText(share)).toContain("share of status >= 500 by url");
});
