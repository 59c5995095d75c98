import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readableText } from "./readable";

// Java and C++ have the same tests.
const golden = JSON.parse(readFileSync(new URL("../../schema/golden/readable_text.json", import.meta.url), "utf8"));

test("golden cases are escaped correctly", () => {
  for (const { text, shown } of golden.cases) {
    expect(readableText(text)).toBe(shown);
    expect(readableText(shown)).toBe(shown);
  }
});

test("exactly the golden ranges are escaped", () => {
  const ranges: [number, number][] = golden.ranges.map((range: string[]) => range.map((end) => Number.parseInt(end, 16)));
  const wrong: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    const text = String.fromCodePoint(code);
    const escaped = ranges.some(([first, last]) => first <= code && code <= last);
    if (readableText(text) !== (escaped ? `\\u{${code.toString(16)}}` : text)) wrong.push(code.toString(16));
  }
  expect(wrong).toEqual([]);
});

test("line feeds and tabs are kept in multi-line text", () => {
  expect(readableText("a\u202e\r\n\n\tb\n", true)).toBe("a\\u{202e}\\u{d}\n\n\tb\n");
});
