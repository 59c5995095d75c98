/** One processor's result: its windows as they arrive, a chart, a table, and their completeness. */
import { DistributionChart, LINE_COLOURS, SeriesChart } from "./charts";
import { completenessLine } from "./completeness";
import { fill, h, setText } from "./dom";
import { clock, counted, duration, number, quantity } from "./format";
import { processorText } from "./plan";
import type { PlanProcessor } from "./types";
import { VirtualTable, type Column } from "./virtual-table";
import { type Detail, type RowSummary, type Snapshot, type SortColumn, USUAL_VIEW, type View } from "./windows";

export interface CardHandlers {
  view(view: View): void;
  drill(detail: Detail): void;
}

export class ProcessorCard {
  readonly element: HTMLElement;
  private readonly when = h("p", { class: "quiet progress" }, "Waiting for the first window…");
  private readonly complete = h("div");
  private readonly legend = h("ul", { class: "legend" });
  private readonly matching = h("span", { class: "quiet" });
  private readonly charts = h("div", { class: "charts" });
  private readonly table: VirtualTable;
  private readonly unit: string;
  private readonly valueUnit: string;
  private view: View = USUAL_VIEW;
  private series: SeriesChart | null = null;
  private spread: { histogram: DistributionChart; cumulative: DistributionChart; of: HTMLElement } | null = null;
  /** Names of the details that rows show in addition to their values. */
  private details: string[] = [];
  private wanted = "";
  private last: Snapshot | null = null;
  private readonly search: HTMLInputElement;

  constructor(
    readonly processor: number,
    private readonly plan: PlanProcessor,
    private readonly handlers: CardHandlers,
  ) {
    this.unit = plan.value?.unit ?? "";
    this.valueUnit = valueUnit(plan);
    const title = h("h2", {}, plan.name);
    this.table = new VirtualTable(
      `Rows of ${plan.name}`,
      columnsOf(plan),
      (first, last) => this.look({ from: first, to: last }),
      (column) => this.sortBy(column as SortColumn),
    );
    this.search = h("input", { type: "search", placeholder: "filter", "aria-label": `Filter the rows of ${plan.name}`, oninput: () => this.filter() });
    this.search.hidden = true;
    this.table.element.hidden = true;
    this.element = h(
      "section",
      { class: "card result", "aria-label": plan.name, "data-processor": processor },
      h("header", { class: "row" }, h("div", {}, title, h("p", { class: "quiet" }, processorText(plan))), h("div", { class: "right" }, this.search, this.matching)),
      this.when,
      this.complete,
      this.legend,
      this.charts,
      this.table.element,
    );
  }

  /** Shows whether a first window may still arrive; has no effect once one has arrived. */
  expect(ended: boolean): void {
    if (this.last !== null) return;
    this.when.classList.toggle("progress", !ended);
    setText(this.when, ended ? "No windows: the query ended without results for this processor." : "Waiting for the first window…");
  }

  /** Sends the view to a new worker. */
  refresh(): void {
    this.handlers.view(this.view);
  }

  private look(change: Partial<View>): void {
    this.view = { ...this.view, ...this.table.range(), ...change };
    this.handlers.view(this.view);
  }

  private sortBy(column: SortColumn): void {
    const descending = this.view.sort === column ? !this.view.descending : column !== "key" && column !== "order";
    this.table.setSorting({ column, descending });
    this.table.scrollToTop();
    this.look({ sort: column, descending, from: 0 });
  }

  private filter(): void {
    this.table.scrollToTop();
    this.look({ filter: this.search.value.trim(), from: 0 });
  }

  show(snapshot: Snapshot): void {
    this.last = snapshot;
    this.when.classList.remove("progress");
    this.table.element.hidden = false;
    this.element.dataset.end = String(snapshot.endNs);
    const span = `${clock(snapshot.startNs, true)} – ${clock(snapshot.endNs, true)} UTC, ${duration(snapshot.endNs - snapshot.startNs)}`;
    const unwatched = snapshot.partial && this.plan.window?.size !== undefined;
    const partly = unwatched ? " · not captured completely" : snapshot.partial ? " · so far" : "";
    setText(this.when, `${span} · ${counted(snapshot.windows, "window")}${partly}`);
    fill(this.complete, completenessLine(snapshot.completeness, unwatched));
    this.search.hidden = snapshot.rows <= 15 && this.view.filter === "";
    const groups = this.plan.trigger ? "alert" : "group";
    setText(this.matching, snapshot.matching === snapshot.rows ? counted(snapshot.rows, groups) : `${number(snapshot.matching)} of ${counted(snapshot.rows, groups)}`);
    this.showDetails(snapshot);
    this.showRows(snapshot);
    if (isDistributed(this.plan)) this.showSpread(snapshot);
    else if (!this.plan.trigger) this.showSeries(snapshot);
    if (this.wanted !== "" && snapshot.detail?.id === this.wanted) {
      this.wanted = "";
      this.handlers.drill(snapshot.detail);
    }
  }

  private showDetails(snapshot: Snapshot): void {
    if (this.details.length > 0) return;
    this.details = detailNames(snapshot);
    if (this.details.length > 0) this.table.setColumns(columnsOf(this.plan, this.details));
  }

  private showRows(snapshot: Snapshot): void {
    const focused = this.table.element.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.row : undefined;
    this.table.show(snapshot.visible.map((row) => this.row(row, snapshot)), snapshot.from, snapshot.matching);
    if (focused !== undefined) this.focusRow(focused);
  }

  /** Restores focus by the row's name, since each window replaces the rows. */
  focusRow(id: string): void {
    this.table.element.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
  }

  private row(row: RowSummary, { largest, detail, partial }: Snapshot): HTMLTableRowElement {
    const chosen = this.view.selected !== "" && detail?.id === row.id;
    const button = h("button", { type: "button", class: "link", "data-row": row.id, title: row.key, "aria-haspopup": "dialog" }, row.key);
    const cells: HTMLElement[] = [];
    if (this.plan.ranking) cells.push(h("td", { class: "rank" }, row.rank, row.tied && h("span", { title: "tied with its neighbour within the bounds" }, "≈")));
    if (this.plan.trigger && row.alert) cells.push(h("td", {}, alertPill(row.alert)), h("td", {}, clock(row.endNs ?? 0, true)));
    cells.push(h("td", { class: "key" }, button), this.valueCell(row, largest, partial));
    if (isDistributed(this.plan)) {
      const { count, p50, p99, max } = row.distribution ?? { count: NaN, p50: NaN, p99: NaN, max: NaN };
      const cell = (text: string, style = "number wide") => h("td", { class: style }, text);
      cells.push(cell(number(count)), cell(quantity(p50, this.unit)), cell(quantity(p99, this.unit), "number"), cell(quantity(max, this.unit)));
    } else {
      cells.push(h("td", { class: "number wide quiet" }, boundsText(row, this.valueUnit)));
    }
    for (const name of this.details) cells.push(h("td", { class: "number" }, detailText(row, name, this.valueUnit)));
    if (showsAnswers(this.plan)) {
      cells.push(h("td", { class: "number" }, number(row.unanswered ?? 0)), h("td", { class: "number wide" }, number(row.half_seen ?? 0)));
    }
    return h("tr", { class: chosen ? "chosen" : undefined, onclick: () => this.choose(row.id) }, ...cells);
  }

  private valueCell(row: RowSummary, largest: number, partial: boolean): HTMLElement {
    const cell = h("td", { class: "number value" }, h("span", {}, quantity(row.value, this.valueUnit)));
    if (largest > 0 && row.value !== null && !this.plan.trigger) {
      const bar = h("i", { class: partial ? "bar hollow" : "bar", "aria-hidden": "true" });
      bar.style.width = `${Math.max(0, (row.value / largest) * 100)}%`;
      cell.prepend(bar);
    }
    return cell;
  }

  /** Requests details from the worker; the dialog opens when they arrive. */
  private choose(id: string): void {
    this.wanted = id;
    this.look({ selected: id });
  }

  private showSeries({ series }: Snapshot): void {
    if (series.times.length < 2) return;
    if (this.series === null) {
      this.series = new SeriesChart(this.valueUnit);
      this.charts.append(this.series.element);
    }
    const partial = series.partial.filter(Boolean).length;
    const label = `${this.plan.name}: values of ${series.names.length} groups in ${series.times.length} windows${partial > 0 ? `, ${partial} of them partial` : ""}`;
    this.series.show(series, label);
    const items = series.names.map((name, index) => {
      const dot = h("i", { "aria-hidden": "true" });
      dot.style.background = `var(${LINE_COLOURS[index % LINE_COLOURS.length]})`;
      return h("li", {}, dot, name);
    });
    if (partial > 0) items.push(h("li", {}, h("i", { class: "hollow", "aria-hidden": "true" }), "not captured completely"));
    fill(this.legend, ...items);
  }

  private showSpread({ detail, partial }: Snapshot): void {
    if (!detail?.distribution?.histogram) return;
    if (this.spread === null) {
      const unit = this.unit;
      this.spread = { histogram: new DistributionChart(unit, false), cumulative: new DistributionChart(unit, true), of: h("h3", {}) };
      const { histogram, cumulative, of } = this.spread;
      this.charts.append(
        of,
        h("div", { class: "pair" }, h("figure", {}, histogram.element, h("figcaption", {}, "how many values fall between two bounds")), h("figure", {}, cumulative.element, h("figcaption", {}, "share of values up to each bound (CDF)"))),
      );
    }
    const { histogram, cumulative, of } = this.spread;
    const distribution = { ...detail.distribution, partial };
    setText(of, distribution.count === 0 ? `${detail.id}: no value` : detail.id);
    const numbers = `median ${quantity(distribution.p50, this.unit)}, 99 % below ${quantity(distribution.p99, this.unit)}`;
    histogram.show(distribution, `Histogram of ${detail.id}: ${number(distribution.count)} values, ${numbers}`);
    cumulative.show(distribution, `Distribution function of ${detail.id}: ${numbers}`);
  }

  /** Redraws after a change of colours. */
  redraw(): void {
    this.series?.redraw();
    this.spread?.histogram.redraw();
    this.spread?.cumulative.redraw();
    if (this.last) this.show(this.last);
  }

  destroy(): void {
    this.series?.destroy();
    this.spread?.histogram.destroy();
    this.spread?.cumulative.destroy();
  }
}

function isDistributed({ aggregate }: PlanProcessor): boolean {
  return aggregate === "DISTRIBUTION" || aggregate === "HISTOGRAM";
}

function showsAnswers({ answers, ranking, trigger }: PlanProcessor): boolean {
  return answers === true && !ranking && !trigger;
}

/** Returns the columns of a processor's table, including one for each detail of its aggregate. */
export function columnsOf(plan: PlanProcessor, details: string[] = []): Column[] {
  const key = (plan.key ?? []).join(" · ") || "group";
  const columns: Column[] = [];
  if (plan.ranking) columns.push({ name: "order", title: "#", class: "rank", sortable: true });
  if (plan.trigger) columns.push({ name: "order", title: "alert", sortable: true }, { name: "at", title: "at", sortable: false });
  columns.push({ name: "key", title: key, class: "key", sortable: true });
  columns.push({ name: "value", title: valueTitle(plan), class: "number", sortable: true });
  if (isDistributed(plan)) {
    columns.push({ name: "count", title: "count", class: "number wide", sortable: true }, { name: "p50", title: "p50", class: "number wide", sortable: true });
    columns.push({ name: "p99", title: "p99", class: "number", sortable: true }, { name: "max", title: "max", class: "number wide", sortable: true });
  } else {
    columns.push({ name: "bounds", title: "between", class: "number wide", sortable: false });
  }
  for (const name of details) columns.push({ name: `details.${name}`, title: name, class: "number", sortable: true });
  if (showsAnswers(plan)) {
    columns.push({ name: "unanswered", title: "unanswered", class: "number", sortable: true }, { name: "half_seen", title: "half seen", class: "number wide", sortable: true });
  }
  return columns;
}

/** Returns the names of the details in the first row that has any. */
export function detailNames({ visible }: Pick<Snapshot, "visible">): string[] {
  return Object.keys(visible.find(({ details }) => details !== undefined)?.details ?? {});
}

/** Formats a detail in the value's unit; the detail `count` has no unit. */
export function detailText({ details }: RowSummary, name: string, unit: string): string {
  const value = details?.[name] ?? null;
  return name === "count" ? number(value ?? NaN) : quantity(value, unit);
}

function valueUnit({ aggregate, value }: PlanProcessor): string {
  if (aggregate === "HISTOGRAM" || aggregate === "DISTINCT" || aggregate === undefined) return "count";
  if (aggregate === "RATE") return `${value?.unit === "count" || !value?.unit ? "" : value.unit}/s`;
  return value?.unit ?? "";
}

function valueTitle({ aggregate, name, value }: PlanProcessor): string {
  if (value?.condition_text) return `${aggregate === "AVG" ? "share" : "count"} ${value.condition_text}`;
  if (aggregate === "DISTRIBUTION") return "mean";
  if (aggregate === "PERCENTILE") return name;
  return aggregate === "HISTOGRAM" ? "values" : (aggregate ?? "COUNT").toLowerCase();
}

function boundsText({ value, low, high }: RowSummary, unit: string): string {
  if (low === undefined || high === undefined || (low === value && high === value)) return value === null ? "" : "exact";
  return `${quantity(low, unit)} – ${high === null ? "not known" : quantity(high, unit)}`;
}

function alertPill({ state, severity }: NonNullable<RowSummary["alert"]>): HTMLElement {
  return h("span", { class: `pill ${state === "raised" ? (severity === "info" ? "info" : "bad") : "ended"}` }, state === "raised" ? severity : "over");
}
