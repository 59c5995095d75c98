/** The page of one query: its results as they arrive, their completeness, and its final state. */
import { type Api, ProblemError } from "./api";
import { completenessLine } from "./completeness";
import { fill, h, setText } from "./dom";
import { DrillDialog, explained } from "./drill";
import type { FollowLink } from "./follow";
import { every, type Page } from "./page";
import { planView } from "./plan";
import { ProcessorCard } from "./processor-card";
import { hasEnded, statePill } from "./state";
import type { FromWorker, ToWorker } from "./stream.worker";
import type { Query, State } from "./types";
import { streamWorker } from "./worker-url";

const TOTALS_MS = 2_000;

export class QueryPage implements Page {
  readonly title: string;
  readonly element: HTMLElement;
  private readonly state = h("span", { role: "status", "aria-label": "State" });
  private readonly stop = h("button", { type: "button", class: "danger", hidden: true, onclick: () => void this.stopQuery() }, "Stop");
  private source = "";
  private readonly text = h("pre", { class: "query", tabindex: "0", "aria-label": "Query" });
  private readonly statusLine = h("div", { role: "status" });
  private readonly link = h("p", { class: "message fair", role: "status", hidden: true });
  private readonly totals = h("div");
  private readonly results = h("div", { class: "results" });
  private readonly plan = h("div", { class: "card" });
  private readonly drill: DrillDialog;
  private cards: ProcessorCard[] = [];
  private worker: Worker | null = null;
  private stopTotals: () => void = () => undefined;
  private current: State = "submitted";
  private closed = false;

  constructor(private readonly api: Api, private readonly id: string) {
    this.title = id;
    this.drill = new DrillDialog(api);
    const back = h("a", { href: "#/queries" }, "← All queries");
    const editButton = h("button", { type: "button", onclick: () => this.edit() }, "Edit as new");
    const head = h("section", { class: "card", "aria-label": "Query" }, back, h("header", { class: "row" }, h("h1", {}, id), this.state, h("div", { class: "right" }, editButton, this.stop)), this.text, this.statusLine, this.link, this.totals);
    this.element = h("div", { class: "page" }, head, this.results, this.plan, this.drill.element);
    fill(this.statusLine, h("p", { class: "progress" }, "Loading the query…"));
    void this.load();
  }

  private async load(): Promise<void> {
    try {
      const query = await this.api.get<Query>(this.path());
      if (!this.closed) this.begin(query);
    } catch (error) {
      if (error instanceof ProblemError && error.problem.status === 404) this.unknown();
      else fill(this.statusLine, h("p", { class: "message bad" }, explained(error)));
    }
  }

  private path(): string {
    return `/api/v1/queries/${encodeURIComponent(this.id)}`;
  }

  private unknown(): void {
    fill(this.state);
    this.stop.hidden = true;
    this.worker?.terminate();
    this.worker = null;
    this.stopTotals();
    fill(this.statusLine, h("p", { class: "message fair" }, "The server does not have this query. It keeps all queries that are running and the 100 that ended most recently; without a separate Redis, it keeps none across a restart. This page shows the data that it received before."));
  }

  private begin(query: Query): void {
    fill(this.statusLine, ...query.notes.map((note) => h("p", { class: "message info" }, note)));
    this.source = query.text;
    setText(this.text, query.text);
    if (this.cards.length === 0) {
      this.cards = query.plan.processors.map((plan, index) => new ProcessorCard(index, plan, {
        view: (view) => this.post({ type: "view", processor: index, view }),
        drill: (detail) => this.drill.open(detail, () => this.cards[index].focusRow(detail.id)),
      }));
      fill(this.results, ...this.cards.map(({ element }) => element));
      fill(this.plan, h("h2", {}, "Plan"), planView({ plan: query.plan, notes: [], placement: query.placement, text: JSON.stringify(query.plan, null, 2) }));
    }
    this.showState(query.state, query.error);
    if (this.worker === null) this.follow();
    this.stopTotals();
    this.stopTotals = every(TOTALS_MS, () => this.refreshTotals());
  }

  private follow(): void {
    this.worker = streamWorker();
    this.worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.onMessage(data);
    this.post({ type: "follow", url: new URL(`${this.path()}/events`, location.href).href, token: this.api.token });
    for (const card of this.cards) card.refresh();
  }

  private post(message: ToWorker): void {
    this.worker?.postMessage(message);
  }

  private onMessage(message: FromWorker): void {
    if (message.type === "snapshot") this.cards[message.snapshot.processor]?.show(message.snapshot);
    else if (message.type === "state") {
      this.showState(message.state, message.error);
      // The final state arrives after all windows, so a card without a window by then will not get one.
      for (const card of this.cards) card.expect(hasEnded(message.state));
    } else this.showLink(message.link, message.retryMs);
  }

  private showLink(link: FollowLink, retryMs: number): void {
    const texts: Partial<Record<FollowLink, string>> = {
      lost: `The stream of results was interrupted. Next attempt in ${retryMs / 1000} s; the server keeps all results.`,
      busy: "The server has reached its limit of result streams. Close another page; this page keeps trying.",
      unauthorized: "The server requires a token to continue.",
    };
    const text = texts[link];
    this.link.hidden = text === undefined;
    setText(this.link, text ?? "");
    this.element.dataset.link = link;
    if (link === "lost") this.api.get("/healthz").catch(() => undefined);
    if (link === "unauthorized") this.api.report("unauthorized");
    if (link === "unknown") this.unknown();
  }

  private showState(state: State, error: string): void {
    this.current = state;
    fill(this.state, statePill(state));
    this.stop.hidden = hasEnded(state);
    if (error !== "") fill(this.statusLine, h("p", { class: "message bad" }, error));
    if (hasEnded(state)) void this.refreshTotals().catch(() => undefined);
  }

  private async refreshTotals(): Promise<void> {
    const query = await this.api.get<Query>(this.path());
    if (Object.keys(query.totals).length > 0) {
      fill(this.totals, h("h2", { class: "small" }, "Totals so far"), completenessLine(query.totals));
    }
    if (hasEnded(query.state)) this.stopTotals();
  }

  private async stopQuery(): Promise<void> {
    this.stop.disabled = true;
    try {
      await this.api.delete(this.path());
    } catch (error) {
      fill(this.statusLine, h("p", { class: "message bad" }, explained(error)));
    } finally {
      this.stop.disabled = false;
    }
  }

  private edit(): void {
    sessionStorage.setItem("tapline.draft", this.source);
    location.hash = "#/queries";
  }

  recovered(): void {
    this.post({ type: "token", token: this.api.token });
    if (!hasEnded(this.current)) void this.load();
  }

  redraw(): void {
    for (const card of this.cards) card.redraw();
  }

  close(): void {
    this.closed = true;
    this.worker?.terminate();
    this.stopTotals();
    for (const card of this.cards) card.destroy();
  }
}
