/**
 * The query editor: CodeMirror in a shadow root, so that its styles are adopted style sheets, which the page's content
 * security policy allows.
 */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { completionSource, type Names, taplineLanguage } from "./language";
import { h } from "./dom";
import { ESCAPED } from "./readable";
import type { QueryError } from "./types";

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--code-text)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: tags.propertyName, color: "var(--code-argument)" },
  { tag: tags.typeName, color: "var(--code-name)", fontWeight: "600" },
]);

const THEME = EditorView.theme({
  "&": { backgroundColor: "var(--field)", color: "var(--text)", borderRadius: "8px", border: "1px solid var(--line-strong)", fontSize: "14px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--mono)", padding: "10px 4px", minHeight: "84px", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-placeholder": { color: "var(--muted)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--selection)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--selection)" },
  ".cm-tooltip": { background: "var(--card)", color: "var(--text)", border: "1px solid var(--line-strong)", borderRadius: "6px", boxShadow: "var(--shadow)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionInfo": { padding: "6px 10px", maxWidth: "340px" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.8" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)", textDecorationSkipInk: "none" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});

export interface EditorOptions {
  text: string;
  label: string;
  names: () => Names;
  changed: (text: string) => void;
  submit: () => void;
}

export class QueryEditor {
  readonly element = document.createElement("div");
  private readonly view: EditorView;

  constructor(options: EditorOptions) {
    this.element.className = "editor";
    const root = this.element.attachShadow({ mode: "open" });
    this.view = new EditorView({ root, parent: root as unknown as Element, state: EditorState.create({ doc: options.text, extensions: extensions(options) }) });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  set text(text: string) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  focus(): void {
    this.view.focus();
  }

  show(errors: QueryError[]): void {
    const document = this.view.state.doc;
    this.view.dispatch(setDiagnostics(this.view.state, errors.map((error) => diagnostic(document, error))));
  }

  /** Selects an error's position. */
  goTo(error: QueryError): void {
    const { from, to } = place(this.view.state.doc, error);
    this.view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
    this.view.focus();
  }

  replace(error: QueryError, text: string): void {
    const { from, to } = place(this.view.state.doc, error);
    this.view.dispatch({ changes: { from, to, insert: text } });
    this.view.focus();
  }

  destroy(): void {
    this.view.destroy();
  }
}

function extensions(options: EditorOptions) {
  return [
    history(),
    highlightSpecialChars({ addSpecialChars: ESCAPED, render: (code) => h("span", { class: "cm-specialChar" }, String.fromCodePoint(code)) }),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    taplineLanguage,
    syntaxHighlighting(COLOURS),
    autocompletion({ override: [completionSource(options.names)], icons: false }),
    keymap.of([
      { key: "Mod-Enter", run: () => (options.submit(), true) },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...defaultKeymap,
      ...historyKeymap,
    ]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": options.label, spellcheck: "false" }),
    placeholder("PARSE http_get TO *:80 LIMIT 90s PROCESS (top-k: k=10, w=10s)"),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) options.changed(update.state.doc.toString());
    }),
    EditorView.domEventHandlers({ beforeinput: replaceSelection }),
    THEME,
  ];
}

/**
 * Returns the browser's selection, which the editor may not have processed yet. In a shadow root, Chromium provides it
 * on the root; other browsers only provide the document's.
 */
function selectedRange(root: DocumentOrShadowRoot & { getSelection?: () => Selection | null }): Range | null {
  const selection = root.getSelection ? root.getSelection() : document.getSelection();
  return selection === null || selection.rangeCount === 0 ? null : selection.getRangeAt(0);
}

/**
 * Replaces selected text when the user types over it; returns true if it did. The browser would preserve the look of
 * the replaced text with an inline style, which the content security policy blocks.
 */
function replaceSelection(event: InputEvent, view: EditorView): boolean {
  const text = event.data;
  const range = selectedRange(view.root);
  if (event.inputType !== "insertText" || !text || range === null || range.collapsed || view.composing) return false;
  if (!view.contentDOM.contains(range.startContainer) || !view.contentDOM.contains(range.endContainer)) return false;
  const begin = view.posAtDOM(range.startContainer, range.startOffset);
  const end = view.posAtDOM(range.endContainer, range.endOffset);
  event.preventDefault();
  const change = { changes: { from: begin, to: end, insert: text }, selection: { anchor: begin + text.length } };
  const insert = () => view.state.update(change, { userEvent: "input.type", scrollIntoView: true });
  const handled = view.state.facet(EditorView.inputHandler).some((handler) => handler(view, begin, end, text, insert));
  if (!handled) view.dispatch(insert());
  return true;
}

/**
 * Converts an error's position to offsets in the document, which count UTF-16 code units. Lines and columns start at 1;
 * columns count code points.
 */
export function place(document: Text, { line, column, length }: QueryError): { from: number; to: number } {
  const target = document.line(Math.min(Math.max(line, 1), document.lines));
  const characters = [...target.text];
  const previousLength = characters.slice(0, column - 1).join("").length;
  const width = characters.slice(column - 1, column - 1 + length).join("").length;
  return { from: target.from + previousLength, to: target.from + previousLength + width };
}

function diagnostic(document: Text, error: QueryError): Diagnostic {
  return { ...place(document, error), severity: "error", message: error.message };
}
