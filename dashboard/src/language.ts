/**
 * The query language in the editor: highlighting and completion. Only the server's compiler decides whether a query is
 * valid.
 */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { StreamLanguage, type StringStream } from "@codemirror/language";
import type { Parser, Processor } from "./types";

export const CLAUSES = ["USE", "PARSE", "FROM", "TO", "AT", "VLAN", "TENANT", "WHERE", "LIMIT", "SAMPLE", "PROCESS"];
const KEYWORD = new RegExp(`^(?:${CLAUSES.join("|")}|AND)$`, "i");
const FIELD_ARGUMENTS = new Set(["group", "by", "key", "of"]);

interface Scan {
  inComment: boolean;
  afterOpen: boolean;
}

function token(stream: StringStream, state: Scan): string | null {
  if (state.inComment || stream.match("/*")) {
    state.inComment = !stream.match(/.*?\*\//);
    if (state.inComment) stream.skipToEnd();
    return "comment";
  }
  if (stream.eatSpace()) return null;
  if (stream.match("--")) {
    stream.skipToEnd();
    return "comment";
  }
  const afterOpen = state.afterOpen;
  state.afterOpen = false;
  if (stream.match(/"(?:[^"\\]|\\.)*"?/)) return "string";
  if (stream.match(/[!<>]?=|[<>]/)) return "operator";
  if (stream.match(/-?[\p{L}\p{N}_.]+(?:-[\p{L}\p{N}_.]+)*/u)) return word(stream, afterOpen);
  state.afterOpen = stream.next() === "(";
  return "punctuation";
}

function word(stream: StringStream, afterOpen: boolean): string {
  const text = stream.current();
  if (KEYWORD.test(text)) return "keyword";
  if (stream.match(/\s*=/, false)) return "propertyName";
  if (/^-?\d/.test(text)) return "number";
  return afterOpen ? "typeName" : "variableName";
}

export const taplineLanguage = StreamLanguage.define<Scan>({
  name: "tapline",
  startState: () => ({ inComment: false, afterOpen: false }),
  copyState: (state) => ({ ...state }),
  token,
  languageData: { commentTokens: { line: "--", block: { open: "/*", close: "*/" } } },
});

/** Names known to the server, from /api/v1/parsers and /api/v1/processors. */
export interface Names {
  parsers: Parser[];
  processors: Processor[];
}

/** Replaces strings and comments with spaces, since they contain no clauses. */
function plain(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, (match) => " ".repeat(match.length));
}

/** Returns completions after `before`, the part of the query `whole` up to the word being typed. */
export function suggestions(before: string, whole: string, names: Names): Completion[] {
  const text = plain(before);
  const clause = /[\s\S]*(?:^|[\s)])(USE|PARSE|FROM|TO|AT(?=\s+[^\s=!<>,)])|VLAN|TENANT|WHERE|LIMIT|SAMPLE|PROCESS)\s([\s\S]*)$/i.exec(text);
  if (clause === null) return /^\s*$/.test(text) ? clauses() : [];
  const rest = clause[2];
  switch (clause[1].toUpperCase()) {
    case "PARSE":
      return [...(/[,(]\s*$|^\s*$/.test(rest) ? parsers(names) : []), ...later(rest, "PARSE")];
    case "WHERE":
      return /(^|\sAND\s)\s*$/i.test(rest) ? fields(whole, names) : later(rest, "WHERE");
    case "LIMIT":
      return /^\s*$/.test(rest) ? options(["90s", "10m", "1h", "5000p"], "limit") : later(rest, "LIMIT");
    case "SAMPLE":
      return /^\s*$/.test(rest) ? options(["auto", "*", "0.1"], "rate") : later(rest, "SAMPLE");
    case "PROCESS":
      return inProcess(rest, whole, names);
    default:
      return later(rest, clause[1]);
  }
}

function inProcess(rest: string, whole: string, names: Names): Completion[] {
  const open = /\(\s*([\p{L}\p{N}_-]+)\s*:([^()]*(?:\([^()]*\)[^()]*)*(?:\([^()]*)?)$/u.exec(rest);
  if (open === null) return /\(\s*$/.test(rest) ? processors(names) : [];
  const processor = names.processors.find(({ name }) => same(name, open[1]));
  const value = /([\p{L}_]+)\s*=\s*(?:\([^()]*)?$/u.exec(open[2]);
  if (value !== null) return FIELD_ARGUMENTS.has(value[1].toLowerCase()) ? fields(whole, names) : [];
  if (processor === undefined || !/(^|,)\s*$/.test(open[2])) return [];
  return processor.arguments.map((argument) => ({
    label: argument.name,
    apply: `${argument.name}=`,
    type: "property",
    detail: argument.type,
    info: `${argument.description}; ${argument.range}; default: ${argument.default}`,
  }));
}

function same(a: string, b: string): boolean {
  return a.toLowerCase().replaceAll("-", "_") === b.toLowerCase().replaceAll("-", "_");
}

function clauses(): Completion[] {
  return CLAUSES.map((label) => ({ label, apply: `${label} `, type: "keyword" }));
}

/** Returns the clauses that may follow, once the current one is not empty. */
function later(rest: string, clause: string): Completion[] {
  if (!/\S\s+$/.test(rest) || /,\s*$/.test(rest)) return [];
  return clauses().slice(CLAUSES.indexOf(clause.toUpperCase()) + 1);
}

function parsers(names: Names): Completion[] {
  return names.parsers.map(({ name, description }) => ({ label: name, type: "class", info: description }));
}

function processors(names: Names): Completion[] {
  return names.processors.map(({ name, description }) => ({ label: name, type: "function", info: description }));
}

/** Returns the fields of the parsers that the query names, or of all parsers if it names none yet. */
function fields(whole: string, names: Names): Completion[] {
  const named = names.parsers.filter(({ name }) =>
    new RegExp(`(^|[^\\w-])${name.replaceAll("_", "[_-]")}($|[^\\w-])`, "i").test(plain(whole)),
  );
  const completions = new Map<string, Completion>();
  for (const parser of named.length > 0 ? named : names.parsers) {
    for (const { name, type, unit, description } of parser.fields) {
      completions.set(name, { label: name, type: "variable", detail: unit || type, info: description });
    }
  }
  return [...completions.values()];
}

function options(labels: string[], type: string): Completion[] {
  return labels.map((label) => ({ label, type }));
}

export function completionSource(names: () => Names): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    const begun = context.matchBefore(/[\p{L}\p{N}_.-]*/u);
    const start = begun?.from ?? context.pos;
    const options = suggestions(context.state.sliceDoc(0, start), context.state.doc.toString(), names());
    return options.length === 0 ? null : { from: start, options: options, validFor: /^[\p{L}\p{N}_.-]*$/u };
  };
}
