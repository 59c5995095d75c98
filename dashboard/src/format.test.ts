import { expect, test } from "vitest";
import { withTimesAsText } from "./api";
import { bytes, clock, duration, keyText, number, percent, planDuration, preciseClock, quantity } from "./format";

test("durations have a suitable unit", () => {
  expect([0, 850, 1_500, 1_234_567, 12_345_678_901, 245e9, 7_500e9].map(duration)).toEqual([
    "0 ns", "850 ns", "1.5 µs", "1.23 ms", "12.3 s", "4 min 05 s", "2 h 05 min",
  ]);
  expect(planDuration("0.010s")).toBe("10 ms");
});

test("numbers, bytes, shares", () => {
  expect(number(1234567)).toBe("1,234,567");
  expect(number(0.12345)).toBe("0.123");
  expect(bytes(999)).toBe("999 B");
  expect(bytes(1_234_567)).toBe("1.23 MB");
  expect(percent(0.0625)).toBe("6.25 %");
  expect(percent(1)).toBe("100 %");
});

test("values have the plan's unit; unknown values are shown as unknown", () => {
  expect(quantity(2_000_000, "ns")).toBe("2 ms");
  expect(quantity(3, "count")).toBe("3");
  expect(quantity(null, "ns")).toBe("-");
});

test("times are UTC and keep their microseconds", () => {
  expect(clock(1795204789803343000, true)).toBe("19:59:49.803");
  expect(preciseClock("1795204789803343017")).toBe("19:59:49.803343");
});

test("keys show empty fields", () => {
  expect(keyText({})).toBe("all");
  expect(keyText({ url: "", dst_port: 80 })).toBe("(empty)  ·  80");
  expect(keyText({ status: null })).toBe("-");
});

test("exact times are kept, and so are strings that look like times", () => {
  const json = '{"time_ns":1795204789803343017,"url":"\\"x_ns\\":1795204789803343017","n":5}';
  expect(JSON.parse(withTimesAsText(json))).toEqual({
    time_ns: "1795204789803343017",
    url: '"x_ns":1795204789803343017',
    n: 5,
  });
});
