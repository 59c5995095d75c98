import { expect, test } from "vitest";
import { highlightTree, tagHighlighter, tags } from "@lezer/highlight";
import { suggestions, taplineLanguage } from "./language";

const field = (name: string) => ({ name, type: "string", unit: "", description: "" });
const NAMES = {
  parsers: [
    { name: "http_get", description: "", fields: [field("url"), field("status")] },
    { name: "tcp_conn_time", description: "", fields: [field("event")] },
  ],
  processors: [
    { name: "top-k", description: "", arguments: ["k", "w", "by"].map((name) => ({ name, type: "", default: "", range: "", description: "" })) },
    { name: "diff-group", description: "", arguments: [] },
  ],
};

function labels(before: string, after = ""): string[] {
  return suggestions(before, before + after, NAMES).map(({ label }) => label);
}

test("completions depend on the position", () => {
  expect(labels("")).toContain("PARSE");
  expect(labels("PARSE ")).toEqual(["http_get", "tcp_conn_time"]);
  expect(labels("PARSE (http_get, ")).toEqual(["http_get", "tcp_conn_time"]);
  expect(labels("PARSE http_get ")).toEqual(["FROM", "TO", "AT", "VLAN", "TENANT", "WHERE", "LIMIT", "SAMPLE", "PROCESS"]);
  expect(labels("PARSE http_get TO h1:80 ")).toEqual(["AT", "VLAN", "TENANT", "WHERE", "LIMIT", "SAMPLE", "PROCESS"]);
  expect(labels("PARSE http_get TO h1 LIMIT ")).toContain("90s");
  expect(labels("PARSE http_get PROCESS (")).toEqual(["top-k", "diff-group"]);
  expect(labels("PARSE http_get PROCESS (top_k: ")).toEqual(["k", "w", "by"]);
  expect(labels("PARSE http_get PROCESS (top-k: k=3, ")).toEqual(["k", "w", "by"]);
  expect(labels("PARSE http_get PROCESS (top-k), (")).toEqual(["top-k", "diff-group"]);
});

test("fields are those of the query's parsers", () => {
  expect(labels("PARSE http-get WHERE ")).toEqual(["url", "status"]);
  expect(labels("PARSE http_get PROCESS (top-k: by=")).toEqual(["url", "status"]);
  expect(labels("PARSE http_get PROCESS (diff-group: group=(url, ")).toEqual(["url", "status"]);
  expect(labels("PARSE http_get PROCESS (top-k: k=")).toEqual([]);
});

test("strings and comments are not clauses", () => {
  expect(labels('PARSE http_get TO "PROCESS (')).toEqual([]);
  expect(labels("-- PARSE ")).toContain("PARSE");
});

test("colours", () => {
  const text = 'parse http_get -- all\nTO *:80 LIMIT 90s PROCESS (top-k: k=10, key="a b") /* x\ny */ AND';
  const spans: [string, string][] = [];
  const highlighter = tagHighlighter([
    { tag: tags.keyword, class: "keyword" },
    { tag: tags.comment, class: "comment" },
    { tag: tags.string, class: "string" },
    { tag: tags.number, class: "number" },
    { tag: tags.propertyName, class: "argument" },
    { tag: tags.typeName, class: "processor" },
  ]);
  highlightTree(taplineLanguage.parser.parse(text), highlighter, (begin, end, name) => spans.push([name, text.slice(begin, end)]));
  expect(spans).toEqual([
    ["keyword", "parse"], ["comment", "-- all"], ["keyword", "TO"], ["number", "80"], ["keyword", "LIMIT"], ["number", "90s"],
    ["keyword", "PROCESS"], ["processor", "top-k"], ["argument", "k"], ["number", "10"], ["argument", "key"], ["string", '"a b"'],
    ["comment", "/* x"], ["comment", "y */"], ["keyword", "AND"],
  ]);
});
