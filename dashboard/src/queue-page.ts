/** One queue: its contents over time by flow, and its bursts with their culprits and victims. */
import { type Api, ProblemError } from "./api";
import { fill, h } from "./dom";
import { DrillDialog, explained } from "./drill";
import { bytes, clock, duration, number, percent } from "./format";
import { every, type Page } from "./page";
import { heightOf, queueChart, queueLegend } from "./queue-chart";
import { type Column, type Contents, contentsOf, filterOf, type Layer, queryFor, type Source, sourceOf, type WindowRow } from "./queue-contents";
import { hasEnded } from "./state";
import { table } from "./table";
import type { Burst, Query, QueryBrief, QueueDiagnosis } from "./types";

const REFRESH_MS = 2_000;
const MAX_ROWS = 2_000;
const MAX_BURSTS = 20;
// Margin around a burst in drill-down. The burst's times do not include the constant offset between the two taps, and
// hosts timestamp packets by their own clocks.
const AROUND_NS = 1e6;

export class QueuePage implements Page {
  readonly title: string;
  readonly element: HTMLElement;
  private readonly chart = h("div", { class: "stack" }, h("p", { class: "progress" }, "Reading the results…"));
  private readonly bursts = h("div", { class: "stack" });
  private readonly drill: DrillDialog;
  private readonly details = new Map<string, Query>();
  private readonly stop: () => void;
  private selectedNs = 0;
  private wanted = "";
  private shown = "";
  private shownBursts = "";

  constructor(private readonly api: Api, private readonly queue: string) {
    this.title = `Queue ${queue}`;
    this.drill = new DrillDialog(api);
    this.element = h(
      "div",
      { class: "page" },
      h("section", { class: "card", "aria-label": "Contents" }, h("a", { href: "#/links" }, "← All links and queues"), h("h1", {}, `Queue ${queue}`), this.chart),
      h("section", { class: "card", "aria-label": "Bursts" }, h("h2", {}, "Bursts"), this.bursts),
      this.drill.element,
    );
    this.stop = every(REFRESH_MS, () => this.refresh());
  }

  private async refresh(): Promise<void> {
    await Promise.all([this.refreshContents(), this.refreshBursts()]);
  }

  private async refreshContents(): Promise<void> {
    try {
      const sources = await this.sources();
      const source = sources.find(({ query }) => query.id === this.wanted) ?? sources.at(0);
      if (source === undefined) return this.showNone();
      const rows = (processor: number) =>
        this.api.get<{ rows: WindowRow[] }>(`/api/v1/queries/${source.query.id}/results?processor=${processor}&limit=${MAX_ROWS}`).then((answer) => answer.rows);
      const [flows, depths] = await Promise.all([rows(source.flows), source.depth === null ? null : rows(source.depth)]);
      this.show(sources, source, contentsOf(this.queue, source.stepNs, flows, depths));
    } catch (error) {
      this.shown = "";
      fill(this.chart, h("p", { class: "message bad" }, explained(error)));
    }
  }

  /** Returns the queries that measure the queue: running queries first, then by submission time, newest first. */
  private async sources(): Promise<Source[]> {
    const { queries } = await this.api.get<{ queries: QueryBrief[] }>("/api/v1/queries");
    const sources: Source[] = [];
    for (const brief of queries.filter(({ text }) => text.includes("queue_flows"))) {
      const known = this.details.get(brief.id) ?? (await this.api.get<Query>(`/api/v1/queries/${brief.id}`));
      this.details.set(brief.id, known);
      const source = sourceOf({ ...known, state: brief.state }, this.queue);
      if (source !== null) sources.push(source);
    }
    const rank = ({ query }: Source) => (hasEnded(query.state) ? 1 : 0);
    return sources.sort((a, b) => rank(a) - rank(b) || b.query.submitted_ns - a.query.submitted_ns);
  }

  private showNone(): void {
    if (this.shown === "none") return;
    this.shown = "none";
    fill(this.chart, h("p", {}, "No query measures the contents of this queue by flow. This one does:"), this.offer());
  }

  /** Offers to submit the query that fills this page. */
  private offer(): HTMLElement {
    const text = queryFor(this.queue);
    const statusLine = h("p", { role: "status" });
    const submit = h("button", { type: "button", class: "primary" }, "Submit this query");
    submit.addEventListener("click", () => {
      submit.disabled = true;
      this.api.post("/api/v1/queries", { query: text }).then(
        () => void this.refreshContents(),
        (error: unknown) => {
          submit.disabled = false;
          fill(statusLine, h("span", { class: "message bad" }, explained(error)));
        },
      );
    });
    return h("div", { class: "stack" }, h("pre", { class: "query", tabindex: "0", "aria-label": "Query" }, text), h("p", { class: "row" }, submit), statusLine);
  }

  private show(sources: Source[], source: Source, contents: Contents): void {
    const columns = contents.slots.filter((slot): slot is Column => slot !== null);
    const selected = columns.find(({ endNs }) => endNs === this.selectedNs) ?? deepest(columns);
    const shown = JSON.stringify([sources.map(({ query }) => [query.id, query.state]), source.query.id, contents, selected?.endNs]);
    // Redraws only after a change, so that a slider that the user is moving is not replaced.
    if (shown === this.shown) return;
    this.shown = shown;
    const redraw = () => this.show(sources, source, contents);
    const keep = document.activeElement?.id ?? "";
    const selector = h("p", { class: "row" }, "From ", this.choice(sources, source));
    if (selected === null) {
      const reason = hasEnded(source.query.state) ? "It found no packets in the queue." : "No packet has left the queue yet.";
      return fill(this.chart, selector, h("p", {}, reason));
    }
    const choose = (column: Column, layer: Layer | null) => {
      this.selectedNs = column.endNs;
      redraw();
      if (layer !== null) this.openFlow(column, layer, () => undefined);
    };
    fill(
      this.chart,
      selector,
      source.depth === null && h("p", { class: "message fair" }, "This query does not report the depth of the queue, so the columns contain only its flows."),
      queueChart(contents, selected, choose),
      queueLegend(contents, source.depth !== null),
      h("p", { class: "quiet" }, "A column is one interval. Its height is the maximum in the queue when a packet arrived; its segments show the maximum of each flow, scaled down if they add up to more than the height. A gap means that the contents are unknown: no packet left or arrived, or the queue was not measured. Click a flow to see its packets."),
      this.interval(columns, selected, redraw),
      this.flowTable(selected),
    );
    if (keep !== "") document.getElementById(keep)?.focus({ preventScroll: true });
  }

  private choice(sources: Source[], source: Source): HTMLElement {
    const name = ({ query }: Source) => `${query.id}${hasEnded(query.state) ? " (ended)" : ""}`;
    const link = h("a", { href: `#/queries/${source.query.id}` }, name(source));
    if (sources.length === 1) return link;
    const select = h("select", { id: "queue-source", "aria-label": "Query" }, ...sources.map((choice) => h("option", { value: choice.query.id, selected: choice === source }, name(choice))));
    select.addEventListener("change", () => {
      this.wanted = select.value;
      void this.refreshContents();
    });
    return h("span", { class: "row" }, select, link);
  }

  private interval(columns: Column[], selected: Column, redraw: () => void): HTMLElement {
    const slider = h("input", { type: "range", id: "queue-interval", min: 0, max: columns.length - 1, value: columns.indexOf(selected) });
    slider.addEventListener("change", () => {
      this.selectedNs = columns[Number(slider.value)].endNs;
      redraw();
    });
    return h("p", { class: "row" }, h("label", { for: "queue-interval" }, "Interval"), slider, h("span", {}, `${wholeMs(selected.startNs)} – ${wholeMs(selected.endNs)} UTC`), selected.partial && h("span", { class: "quiet" }, "partial"));
  }

  private flowTable(column: Column): HTMLElement {
    const share = (size: number) => (column.depth ? percent(size / column.depth) : "-");
    const rows = column.layers.map((layer) => {
      const open = h("button", { type: "button" }, "Packets");
      open.addEventListener("click", () => this.openFlow(column, layer, () => open.focus()));
      return h("tr", {}, h("th", { scope: "row" }, layer.flow), h("td", { class: "number" }, bytes(layer.bytes)), h("td", { class: "number wide" }, share(layer.height)), h("td", {}, open));
    });
    const plain = (name: string, size: number | null, ofDepth: string) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number" }, size === null ? "-" : bytes(size)), h("td", { class: "number wide" }, ofDepth), h("td", {}));
    if (column.depth !== null) rows.push(plain("other flows", column.other, share(column.other ?? 0)));
    rows.push(plain("queue", column.depth, column.depth === null ? "-" : "100 %"));
    return table("Flows in the queue", ["Flow", "Bytes", "Share of the queue", "Packets"], [1, 2], [2], rows);
  }

  private openFlow(column: Column, layer: Layer, returnFocus: () => void): void {
    this.drill.openRequest(layer.flow, { filter: filterOf(layer.key), from_ns: column.startNs, to_ns: column.endNs }, returnFocus);
  }

  private async refreshBursts(): Promise<void> {
    try {
      const [name, port] = this.queue.split(":");
      const diagnosis = await this.api.get<QueueDiagnosis>(`/api/v1/queues/${encodeURIComponent(name)}/${encodeURIComponent(port)}`);
      const shown = JSON.stringify(diagnosis);
      if (shown !== this.shownBursts) fill(this.bursts, ...diagnosis.verdict.map((line) => h("p", {}, line)), this.burstTable(diagnosis) ?? h("p", { class: "quiet" }, "Queries over capture files report no bursts."));
      this.shownBursts = shown;
    } catch (error) {
      this.shownBursts = "";
      const unmeasured = error instanceof ProblemError && error.problem.status === 404;
      fill(this.bursts, unmeasured ? h("p", {}, "No query reports the bursts of this queue: run the parser queue_burst.") : h("p", { class: "message bad" }, explained(error)));
    }
  }

  private burstTable({ bursts, incomplete, complete_since_ns }: QueueDiagnosis): HTMLElement | null {
    if (bursts.length === 0) return null;
    const latest = bursts.slice(-MAX_BURSTS).reverse();
    const rows = latest.map((burst) => {
      const open = h("button", { type: "button" }, "Packets");
      const question = { filter: burst.filter, from_ns: burst.begin_ns - AROUND_NS, to_ns: burst.end_ns + AROUND_NS };
      open.addEventListener("click", () => this.drill.openRequest(`the burst at ${clock(burst.begin_ns, true)}`, question, () => open.focus()));
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, clock(burst.begin_ns, true)),
        h("td", { class: "number" }, duration(burst.delay_ns)),
        h("td", { class: "number wide" }, bytes(burst.peak_bytes)),
        h("td", {}, culprits(burst)),
        h("td", {}, victims(burst)),
        h("td", {}, open),
      );
    });
    const left = bursts.length > latest.length || incomplete;
    return h(
      "div",
      { class: "stack" },
      table("Queue bursts", ["Start (UTC)", "Longest wait", "Peak", "Culprits", "Victims", "Packets"], [1, 2], [2], rows),
      left && h("p", { class: "quiet" }, `The latest ${number(latest.length)} of ${number(bursts.length)} bursts${incomplete ? `; those before ${clock(complete_since_ns, true)} may be missing` : ""}.`),
    );
  }

  recovered(): void {
    void this.refresh();
  }

  close(): void {
    this.stop();
  }
}

/** Formats a window's start or end. These are whole milliseconds, but numbers of this size are exact only to 256 ns. */
function wholeMs(ns: number): string {
  return clock(Math.round(ns / 1e6) * 1e6 + 1_000, true);
}

function deepest(columns: Column[]): Column | null {
  return columns.reduce<Column | null>((tallest, column) => (tallest === null || heightOf(column) > heightOf(tallest) ? column : tallest), null);
}

function culprits(burst: Burst): HTMLElement {
  const items = burst.culprits.map(({ source, destination, share }) => h("li", {}, `${source} > ${destination}: ${percent(share)} of the queue`));
  return h("ul", { class: "plain" }, ...items);
}

function victims(burst: Burst): HTMLElement {
  const items = burst.victim_flows.map(({ source, destination, packets, delay_ns, waited_ns }) =>
    h("li", {}, `${source} > ${destination}: ${number(packets)} packets, up to ${duration(delay_ns)}, ${duration(waited_ns)} in total`),
  );
  if (items.length === 0) return h("span", {}, `${number(burst.victims)} packets, all from culprits`);
  return h("ul", { class: "plain" }, ...items);
}
