/**
 * A table of any length that renders only its visible rows. All rows have the same height. The caller supplies the rows
 * that the table requests.
 */
import { fill, h } from "./dom";

export const ROW_PX = 34;
const MAX_PX = 476;
const AHEAD = 12;

export interface Column {
  name: string;
  title: string;
  class?: string;
  sortable: boolean;
}

export interface Sorting {
  column: string;
  descending: boolean;
}

export class VirtualTable {
  readonly element: HTMLElement;
  private readonly head = h("tr", { "aria-rowindex": "1" });
  private readonly body = h("tbody");
  private readonly table: HTMLTableElement;
  private readonly above = spacer();
  private readonly below = spacer();
  private total = 0;
  private sorting: Sorting = { column: "", descending: false };
  private requested = { from: 0, to: 0 };

  constructor(
    label: string,
    private columns: Column[],
    private readonly look: (from: number, to: number) => void,
    private readonly sort: (column: string) => void,
  ) {
    this.table = h("table", { class: "virtual" }, h("thead", {}, this.head), this.body);
    this.element = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label, onscroll: () => this.ask() }, this.table);
    this.element.style.maxHeight = `${MAX_PX}px`;
    this.setSorting({ column: "", descending: false });
  }

  /** Replaces the columns; rows already shown keep theirs. */
  setColumns(columns: Column[]): void {
    this.columns = columns;
    this.setSorting(this.sorting);
  }

  setSorting({ column, descending }: Sorting): void {
    this.sorting = { column, descending };
    const focused = this.head.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.column : undefined;
    fill(this.head, ...this.columns.map((spec) => this.header(spec, spec.name === column ? descending : undefined)));
    if (focused) this.head.querySelector<HTMLElement>(`[data-column="${focused}"]`)?.focus();
  }

  private header({ name, title, class: style, sortable }: Column, descending: boolean | undefined): HTMLElement {
    const sorted = descending === undefined ? undefined : descending ? "descending" : "ascending";
    const arrow = descending === undefined ? "" : descending ? " ↓" : " ↑";
    const label = sortable ? h("button", { class: "sort", type: "button", "data-column": name, onclick: () => this.sort(name) }, title + arrow) : title;
    return h("th", { scope: "col", class: style, "aria-sort": sorted }, label);
  }

  /** Returns the range of visible rows, with a margin of a few rows. */
  range(): { from: number; to: number } {
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW_PX) - AHEAD);
    return { from: first, to: first + Math.ceil(MAX_PX / ROW_PX) + 2 * AHEAD };
  }

  private ask(): void {
    const { from, to } = this.range();
    if (this.total <= to - from && this.requested.from === from) return;
    if (Math.abs(from - this.requested.from) < AHEAD / 2 && from !== 0) return;
    this.requested = { from, to };
    this.look(from, to);
  }

  show(rows: HTMLTableRowElement[], first: number, total: number): void {
    this.total = total;
    this.table.setAttribute("aria-rowcount", String(total + 1));
    rows.forEach((row, index) => row.setAttribute("aria-rowindex", String(first + index + 2)));
    setHeight(this.above, first * ROW_PX);
    setHeight(this.below, Math.max(0, total - first - rows.length) * ROW_PX);
    this.body.replaceChildren(...(first > 0 ? [this.above] : []), ...rows, ...(first + rows.length < total ? [this.below] : []));
  }

  scrollToTop(): void {
    this.element.scrollTop = 0;
    this.requested = this.range();
  }
}

function spacer(): HTMLTableRowElement {
  return h("tr", { class: "spacer", "aria-hidden": "true" });
}

function setHeight(row: HTMLTableRowElement, px: number): void {
  row.style.height = `${px}px`;
}
