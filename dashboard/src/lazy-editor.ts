/**
 * Loads the query editor after the page: most of the dashboard's code is CodeMirror, and the page should not wait for
 * it.
 */
import type { EditorOptions, QueryEditor } from "./editor";
import { h } from "./dom";
import type { QueryError } from "./types";

export class LazyEditor {
  readonly element: HTMLElement;
  private editor: QueryEditor | null = null;
  private errors: QueryError[] = [];
  private closed = false;

  constructor(private readonly options: EditorOptions) {
    this.element = h("div", { class: "editor-place" }, h("pre", { class: "query", "aria-hidden": "true" }, options.text));
    void this.load();
  }

  private async load(): Promise<void> {
    let QueryEditor: typeof import("./editor").QueryEditor;
    try {
      ({ QueryEditor } = await import("./editor"));
    } catch {
      this.element.append(h("p", { class: "message bad" }, "The editor could not be loaded from the server. Reload the page."));
      return;
    }
    // Loading the code and building the editor are separate tasks, so neither blocks the page for long.
    await new Promise((done) => setTimeout(done));
    if (this.closed) return;
    this.editor = new QueryEditor(this.options);
    this.element.replaceChildren(this.editor.element);
    this.editor.show(this.errors);
  }

  get text(): string {
    return this.editor === null ? this.options.text : this.editor.text;
  }

  show(errors: QueryError[]): void {
    this.errors = errors;
    this.editor?.show(errors);
  }

  goTo(error: QueryError): void {
    this.editor?.goTo(error);
  }

  replace(error: QueryError, text: string): void {
    this.editor?.replace(error, text);
  }

  destroy(): void {
    this.closed = true;
    this.editor?.destroy();
  }
}
