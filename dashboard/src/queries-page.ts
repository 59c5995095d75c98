/** All queries, and the editor for a new one. */
import { type Api, ProblemError } from "./api";
import { fill, h, setText } from "./dom";
import { explained } from "./drill";
import { dateTime, duration } from "./format";
import type { Names } from "./language";
import { LazyEditor } from "./lazy-editor";
import { every, type Page } from "./page";
import { planView } from "./plan";
import { statePill } from "./state";
import type { Explanation, Parser, Processor, QueryBrief, QueryError } from "./types";

const EXPLAIN_AFTER_MS = 350;
const REFRESH_MS = 2_000;
const DRAFT = "tapline.draft";
const FIRST = "PARSE http_get\nFROM * TO *:80\nLIMIT 90s SAMPLE auto\nPROCESS (top-k: k=10, w=10s)";

export class QueriesPage implements Page {
  readonly title = "Queries";
  readonly element: HTMLElement;
  private readonly names: Names = { parsers: [], processors: [] };
  private readonly editor: LazyEditor;
  private readonly errors = h("div", { class: "errors", role: "status", "aria-label": "Query errors" });
  private readonly plan = h("div", { class: "card plan-card" });
  private readonly list = h("tbody");
  private readonly table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "List of queries", hidden: true });
  private readonly empty = h("p", { class: "quiet", hidden: true }, "No queries yet. Write one above and run it.");
  private readonly run = h("button", { type: "button", class: "primary", onclick: () => void this.submit() }, "Run");
  private readonly statusLine = h("span", { class: "quiet", role: "status" });
  private readonly stopRefresh: () => void;
  private asking: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private known = "";

  constructor(private readonly api: Api) {
    this.editor = new LazyEditor({
      text: sessionStorage.getItem(DRAFT) ?? FIRST,
      label: "Query",
      names: () => this.names,
      changed: (text) => this.changed(text),
      submit: () => void this.submit(),
    });
    this.element = h("div", { class: "page writing" }, this.writing(), this.plan, this.listing());
    void this.learn();
    void this.explain();
    this.stopRefresh = every(REFRESH_MS, () => this.refresh());
  }

  private writing(): HTMLElement {
    const hint = h("p", { class: "quiet" }, "Ctrl-Enter runs the query. Ctrl-Space completes. Escape, then Tab leaves the editor.");
    return h("section", { class: "card", "aria-label": "New query" }, h("h1", {}, "New query"), this.editor.element, this.errors, h("div", { class: "row" }, this.run, this.statusLine), hint);
  }

  private listing(): HTMLElement {
    const head = ["State", "Query", "Submitted (UTC)", "Ran for"].map((name, index) => h("th", { scope: "col", class: index > 1 ? "wide" : undefined }, name));
    this.table.append(h("table", { class: "queries" }, h("thead", {}, h("tr", {}, ...head)), this.list));
    return h("section", { class: "card", "aria-label": "Queries" }, h("h2", {}, "Queries"), this.empty, this.table);
  }

  /** Loads the parsers and processors for completion, which offers less without them. */
  private async learn(): Promise<void> {
    try {
      const [parsers, processors] = await Promise.all([
        this.api.get<{ parsers: Parser[] }>("/api/v1/parsers"),
        this.api.get<{ processors: Processor[] }>("/api/v1/processors"),
      ]);
      this.names.parsers = parsers.parsers;
      this.names.processors = processors.processors;
    } catch {
      // The bar reports that the server is unreachable; recovered() retries.
    }
  }

  private changed(text: string): void {
    sessionStorage.setItem(DRAFT, text);
    setText(this.statusLine, "");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.explain(), EXPLAIN_AFTER_MS);
  }

  private async explain(): Promise<void> {
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    const query = this.editor.text;
    if (query.trim() === "") {
      this.showErrors([]);
      fill(this.plan, h("h2", {}, "Plan"), h("p", { class: "quiet" }, "The plan of the query appears here as you type."));
      return;
    }
    try {
      const explanation = await this.api.post<Explanation>("/api/v1/explain", { query }, asking.signal);
      this.showErrors([]);
      fill(this.plan, h("h2", {}, "Plan"), planView(explanation));
      this.plan.classList.remove("stale");
    } catch (error) {
      if (!asking.signal.aborted) this.failed(error);
    }
  }

  /** Shows an error. An older plan stays visible, but dimmed, until the query is valid again. */
  private failed(error: unknown): void {
    this.plan.classList.add("stale");
    if (!this.plan.hasChildNodes()) fill(this.plan, h("h2", {}, "Plan"));
    const errors = error instanceof ProblemError ? error.problem.errors : undefined;
    if (errors) this.showErrors(errors);
    else fill(this.errors, h("p", { class: "message bad" }, explained(error)));
  }

  private showErrors(errors: QueryError[]): void {
    this.editor.show(errors);
    fill(this.errors, errors.length > 0 && h("ul", {}, ...errors.map((error) => this.errorItem(error))));
  }

  private errorItem(error: QueryError): HTMLElement {
    const goTo = h("button", { type: "button", class: "link", onclick: () => this.editor.goTo(error) }, `${error.line}:${error.column}`);
    const mend = error.suggestion && h("button", { type: "button", onclick: () => this.editor.replace(error, error.suggestion!) }, `Use ${error.suggestion}`);
    return h("li", {}, goTo, " ", error.message, error.expected && h("span", { class: "quiet" }, ` – expected: ${error.expected} `), mend);
  }

  private async submit(): Promise<void> {
    if (this.run.disabled) return;
    this.run.disabled = true;
    setText(this.statusLine, "Starting…");
    try {
      const query = await this.api.post<QueryBrief>("/api/v1/queries", { query: this.editor.text });
      location.hash = `#/queries/${query.id}`;
    } catch (error) {
      setText(this.statusLine, "Not started.");
      this.failed(error);
    } finally {
      this.run.disabled = false;
    }
  }

  private async refresh(): Promise<void> {
    const { queries } = await this.api.get<{ queries: QueryBrief[] }>("/api/v1/queries");
    const shown = JSON.stringify(queries.map((query) => [query.id, query.state])) + queries.filter((query) => !query.ended_ns).map(ranFor).join();
    this.empty.hidden = queries.length > 0;
    this.table.hidden = queries.length === 0;
    if (shown === this.known) return;
    this.known = shown;
    const focused = this.list.contains(document.activeElement) ? (document.activeElement as HTMLAnchorElement).hash : undefined;
    fill(this.list, ...queries.map(listRow));
    if (focused) this.list.querySelector<HTMLElement>(`a[href="${CSS.escape(focused)}"]`)?.focus();
  }

  recovered(): void {
    void this.learn();
    void this.explain();
    void this.refresh().catch(() => undefined);
  }

  close(): void {
    clearTimeout(this.timer);
    this.asking?.abort();
    this.stopRefresh();
    this.editor.destroy();
  }
}

function listRow(query: QueryBrief): HTMLElement {
  const text = query.text.replace(/[ \t\r\n]+/g, " ");
  return h(
    "tr",
    {},
    h("td", {}, statePill(query.state)),
    h("td", { class: "query-text" }, h("a", { href: `#/queries/${query.id}`, title: query.id }, text), query.error && h("p", { class: "message bad" }, query.error)),
    h("td", { class: "wide" }, dateTime(query.submitted_ns)),
    h("td", { class: "wide" }, ranFor(query)),
  );
}

function ranFor({ started_ns, ended_ns }: QueryBrief): string {
  if (!started_ns) return "-";
  const end = ended_ns || Date.now() * 1e6;
  return duration(Math.max(0, Math.round((end - started_ns) / 1e9) * 1e9));
}
