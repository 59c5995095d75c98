/** Drills down from a row to its packets: its exemplars, their headers on every host, and a capture file. */
import { type Api, NoResponse, ProblemError } from "./api";
import { fill, h } from "./dom";
import { clock, counted, number, preciseClock } from "./format";
import type { DrillResponse, Exemplar, Header } from "./types";
import type { Detail } from "./windows";

const PCAPNG = "application/x-pcapng";
const MAX_ROWS = 500;

/** Margin of the search around the exemplars' times, because a flow has packets before and after the counted ones. */
const AROUND_NS = 60e9;
const FLOW_ID = /^([0-9a-f]{16})(?:-[0-9a-f]{8})?$/;

export interface DrillRequest {
  filter: string;
  from_ns: number;
  to_ns: number;
  limit?: number;
}

/** Returns a drill-down request for both directions of the exemplars' flows, on all hosts. */
export function requestOf(exemplars: Exemplar[]): DrillRequest {
  const flows = exemplars.map(({ flow_id }) => FLOW_ID.exec(flow_id)?.[1]).filter((flow) => flow !== undefined);
  const filter = [...new Set(flows)].map((flow) => `flow == 0x${flow}`).join(" || ");
  const fromNs = Math.min(...exemplars.map(({ start_ns }) => start_ns)) - AROUND_NS;
  const toNs = Math.max(...exemplars.map(({ end_ns }) => end_ns)) + AROUND_NS;
  return { filter, from_ns: Math.max(0, fromNs), to_ns: toNs };
}

export class DrillDialog {
  readonly element: HTMLDialogElement;
  private readonly content = h("div");

  private returnFocus: () => void = () => undefined;

  constructor(private readonly api: Api) {
    const close = h("button", { type: "button", class: "quiet-button", "aria-label": "Close", onclick: () => this.element.close() }, "✕");
    this.element = h("dialog", { class: "drill", "aria-labelledby": "drill-title", onclose: () => this.returnFocus() }, close, this.content);
    this.element.addEventListener("click", (event) => event.target === this.element && this.element.close());
  }

  open(detail: Detail, returnFocus: () => void): void {
    this.returnFocus = returnFocus;
    const results = h("div", { "aria-live": "polite" });
    fill(
      this.content,
      h("h2", { id: "drill-title" }, "Behind ", h("code", {}, detail.id)),
      h("p", { class: "quiet" }, `window ${clock(detail.startNs, true)} – ${clock(detail.endNs, true)} UTC`),
      detail.exemplars.length === 0 ? h("p", {}, "This row has no exemplars, so there is no connection to follow.") : this.exemplars(detail.exemplars, results),
      results,
    );
    if (!this.element.open) this.element.showModal();
    if (detail.exemplars.length > 0) void this.search(requestOf(detail.exemplars), results);
  }

  /** Shows the packets that a filter selects within a time span. */
  openRequest(name: string, question: DrillRequest, returnFocus: () => void): void {
    this.returnFocus = returnFocus;
    const results = h("div", { "aria-live": "polite" });
    fill(this.content, h("h2", { id: "drill-title" }, "Behind ", h("code", {}, name)), h("p", { class: "quiet" }, `${clock(question.from_ns, true)} – ${clock(question.to_ns, true)} UTC`), results);
    if (!this.element.open) this.element.showModal();
    void this.search(question, results);
  }

  private exemplars(exemplars: Exemplar[], results: HTMLElement): HTMLElement {
    const rows = exemplars.map((exemplar) =>
      h(
        "tr",
        {},
        h("td", {}, clock(exemplar.start_ns, true)),
        h("td", {}, `${exemplar.src_ip}:${exemplar.src_port}`),
        h("td", {}, `${exemplar.dst_ip}:${exemplar.dst_port}`),
        h("td", { class: "wide" }, exemplar.monitor),
        h("td", {}, h("button", { type: "button", onclick: () => void this.search(requestOf([exemplar]), results) }, "only this connection")),
      ),
    );
    const head = ["From (UTC)", "Client", "Server", "Seen by", ""].map((name, index) => (name === "" ? h("td", {}) : h("th", { scope: "col", class: index === 3 ? "wide" : undefined }, name)));
    return h("section", {}, h("h3", {}, "Example connections"), scrolled("Connections", h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows))));
  }

  private async search(question: DrillRequest, results: HTMLElement): Promise<void> {
    fill(results, h("h3", {}, "Headers on the hosts"), h("p", { class: "progress" }, "Querying all nodes at one snapshot…"));
    try {
      const response = await this.api.exact<DrillResponse>("/api/v1/drilldown", { ...question, limit: MAX_ROWS });
      fill(results, h("h3", {}, "Headers on the hosts"), ...this.answer(response, question));
    } catch (error) {
      fill(results, h("h3", {}, "Headers on the hosts"), h("p", { class: "message bad" }, explained(error)));
    }
  }

  private answer(answer: DrillResponse, question: DrillRequest): HTMLElement[] {
    const rows = answer.rows ?? [];
    const missing = Object.entries({ ...answer.missing, ...answer.left_out });
    const status = h("span", { hidden: true });
    const download = h("button", { type: "button", class: "primary", onclick: () => void this.download(question, status) }, "Download pcapng");
    return [
      h("p", {}, `${number(rows.length)}${answer.truncated ? " (and more)" : ""} packets from ${counted(answer.nodes.length, "node")}: ${answer.nodes.join(", ")}.`),
      ...missing.map(([node, reason]) => h("p", { class: "message fair" }, `${node}: ${reason}`)),
      h("p", { class: "row" }, download, status),
      headerTable(rows),
    ];
  }

  private async download(question: DrillRequest, status: HTMLElement): Promise<void> {
    status.hidden = false;
    status.className = "progress";
    fill(status, "Collecting packets…");
    try {
      const file = await this.api.file("/api/v1/drilldown", question, PCAPNG);
      const url = URL.createObjectURL(file);
      h("a", { href: url, download: "tapline.pcapng" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      status.hidden = true;
    } catch (error) {
      status.className = "message bad";
      fill(status, explained(error));
    }
  }
}

export function explained(error: unknown): string {
  if (error instanceof ProblemError || error instanceof NoResponse) return error.message;
  return "The page received data of an unknown version. Reload the page.";
}

function scrolled(label: string, table: HTMLElement): HTMLElement {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
}

const PROTOCOLS = new Map([[1, "icmp"], [6, "tcp"], [17, "udp"], [58, "icmpv6"]]);

const COLUMNS: [string, (row: Header) => string, string?][] = [
  ["Time (UTC)", (row) => preciseClock(row.time_ns)],
  ["Node", (row) => row.node],
  ["Source", (row) => endpoint(row, "src")],
  ["Destination", (row) => endpoint(row, "dst")],
  ["Protocol", (row) => protocol(row.protocol)],
  ["Bytes", (row) => text(row.bytes), "number"],
  ["Flags", (row) => flags(row.tcp_flags)],
  ["Seq", (row) => text(row.seq), "number"],
  ["Ack", (row) => text(row.ack), "number"],
];

function headerTable(rows: Header[]): HTMLElement {
  const head = COLUMNS.map(([name, , style]) => h("th", { scope: "col", class: style }, name));
  const body = rows.map((row) => h("tr", {}, ...COLUMNS.map(([, cell, style]) => h("td", { class: style }, cell(row)))));
  return scrolled("Headers", h("table", { class: "headers" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)));
}

function text(value: unknown): string {
  return value === undefined ? "" : String(value);
}

function endpoint(row: Header, side: string): string {
  const address = text(row[`${side}_ip6`] ?? row[`${side}_ip`]);
  const port = row[`${side}_port`];
  if (port === undefined) return address;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function protocol(value: unknown): string {
  return PROTOCOLS.get(value as number) ?? text(value);
}

/** Formats TCP flags as tcpdump does. */
export function flags(value: unknown): string {
  if (typeof value !== "number") return text(value);
  const letters: [number, string][] = [[0x01, "F"], [0x02, "S"], [0x04, "R"], [0x08, "P"], [0x10, "."], [0x20, "U"], [0x40, "E"], [0x80, "W"]];
  return letters.filter(([bit]) => (value & bit) !== 0).map(([, letter]) => letter).join("");
}
