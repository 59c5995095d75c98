import { expect, test } from "vitest";
import { lines } from "./links-page";
import type { LinkLoad, MeasuredLink } from "./types";

function load(field: string, value: number | null, statistic = "max", end = 2): LinkLoad {
  return { field, statistic, value, window_start_ns: 0, window_end_ns: end, partial: false, query: "q-1", state: "running", processor: 0 };
}

function link(port: string, ...loads: LinkLoad[]): MeasuredLink {
  return { switch: "leaf1", port, loads };
}

test("figures of one window share a line, and lines are sorted by share in descending order", () => {
  const rows = lines([
    link("1", load("share", 0.2), load("bits_per_second", 2e9), load("high_share", 0.3)),
    link("2", load("share", null)),
    link("3", load("share", 0.9), load("bits_per_second", 1e9, "avg"), load("share", 0.5, "min", 1)),
  ]);
  expect(rows.map(({ link, statistic, end, share, bitsPerSecond }) => [link.port, statistic, end, share, bitsPerSecond])).toEqual([
    ["3", "max", 2, 0.9, null],
    ["3", "min", 1, 0.5, null],
    ["1", "max", 2, 0.2, 2e9],
    ["2", "max", 2, null, null],
    ["3", "avg", 2, null, 1e9],
  ]);
});
