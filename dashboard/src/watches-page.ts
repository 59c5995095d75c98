/** Conditions that hosts watch on their own, and the resulting alerts. */
import { type Api } from "./api";
import { fill, h, setText } from "./dom";
import { explained } from "./drill";
import { clock, duration, keyText, number } from "./format";
import { every, type Page } from "./page";
import type { Alert, Watch } from "./types";

const REFRESH_MS = 1_500;
const MAX_ALERTS = 200;

export class WatchesPage implements Page {
  readonly title = "Watches";
  readonly element: HTMLElement;
  private readonly watches = h("tbody");
  private readonly alerts = h("tbody");
  private readonly noWatches = h("p", { class: "quiet" }, "No watches yet.");
  private readonly noAlerts = h("p", { class: "quiet" }, "No alert.");
  private readonly statusLine = h("p", { class: "message bad", role: "status", hidden: true });
  private readonly fields = {
    filter: field("Filter", "tcp_flags == 2", "MultiLog expression; empty for all headers"),
    aggregate: field("Aggregate", "COUNT", "COUNT, SUM(bytes), DISTINCT(dst_port)…"),
    group_by: field("Group by", "src_ip", "up to 4 fields"),
    when: field("Alert when", "COUNT > 100", "empty: never, only count"),
  };
  private readonly stop: () => void;
  private known: Alert[] = [];
  private last = 0;
  private shown = "";

  constructor(private readonly api: Api) {
    const form = h(
      "form",
      { class: "fields", onsubmit: (event) => (event.preventDefault(), void this.add()) },
      ...Object.values(this.fields).map(({ label }) => label),
      h("button", { type: "submit", class: "primary" }, "Watch"),
    );
    this.element = h(
      "div",
      { class: "page" },
      h("section", { class: "card", "aria-label": "Watches" }, h("h1", {}, "Watches"), form, this.statusLine, this.noWatches, listing("List of watches", ["Filter", "Aggregate", "By", "When", "Every", "Hosts", "State", "Action"], this.watches)),
      h("section", { class: "card", "aria-label": "Alerts" }, h("h2", {}, "Alerts"), this.noAlerts, listing("List of alerts", ["Found (UTC)", "Severity", "Host", "Group", "Value", "Watch"], this.alerts)),
    );
    this.stop = every(REFRESH_MS, () => this.refresh());
  }

  private async refresh(): Promise<void> {
    const [{ watches }, { alerts }] = await Promise.all([
      this.api.get<{ watches: Watch[] }>("/api/v1/watches"),
      this.api.get<{ alerts: Alert[] }>(`/api/v1/alerts?after=${this.last}`),
    ]);
    const shown = JSON.stringify(watches);
    if (shown !== this.shown) fill(this.watches, ...watches.map((watch) => this.watchRow(watch)));
    this.shown = shown;
    this.noWatches.hidden = watches.length > 0;
    if (alerts.length > 0) {
      // After a restart, the server again reports the alerts that nodes keep, with the same IDs.
      const ids = new Set(this.known.map((alert) => alert.id));
      this.known = [...this.known, ...alerts.filter((alert) => !ids.has(alert.id))].slice(-MAX_ALERTS);
      this.last = alerts.at(-1)!.number;
      fill(this.alerts, ...[...this.known].reverse().map(alertRow));
    }
    this.noAlerts.hidden = this.known.length > 0;
  }

  private watchRow(watch: Watch): HTMLElement {
    const remove = h("button", { type: "button", "aria-label": `Remove ${watch.id}`, onclick: () => void this.act(() => this.api.delete(`/api/v1/watches/${encodeURIComponent(watch.id)}`)) }, "Remove");
    const cells = [watch.filter || "all headers", watch.aggregate, watch.group_by.join(", ") || "-", watch.when || "-", duration(watch.every_ns), watch.nodes.join(", ") || "all", watchState(watch)];
    return h("tr", {}, ...cells.map((cell, index) => h("td", { class: index > 3 ? "wide" : undefined }, cell)), h("td", {}, remove));
  }

  private async add(): Promise<void> {
    const { filter, aggregate, group_by, when } = this.fields;
    const groups = group_by.input.value.split(",").map((field) => field.trim()).filter((field) => field !== "");
    const watch = { filter: filter.input.value.trim(), aggregate: aggregate.input.value.trim() || "COUNT", group_by: groups, when: when.input.value.trim() };
    await this.act(() => this.api.post("/api/v1/watches", watch));
  }

  private async act(action: () => Promise<unknown>): Promise<void> {
    this.statusLine.hidden = true;
    try {
      await action();
      await this.refresh();
    } catch (error) {
      this.statusLine.hidden = false;
      setText(this.statusLine, explained(error));
    }
  }

  recovered(): void {
    this.known = [];
    this.last = 0;
    void this.refresh().catch(() => undefined);
  }

  close(): void {
    this.stop();
  }
}

function field(name: string, value: string, hint: string): { label: HTMLElement; input: HTMLInputElement } {
  const input = h("input", { type: "text", value, spellcheck: "false", autocomplete: "off", title: hint });
  return { input, label: h("label", {}, name, input) };
}

/** Styles of the columns that do not have the default style. */
const STYLES: Record<string, string> = { Value: "number", Every: "wide", Hosts: "wide", State: "wide", Watch: "wide" };

function listing(label: string, names: string[], body: HTMLElement): HTMLElement {
  const head = h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col", class: STYLES[name] }, name))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", {}, head, body));
}

/** Describes whether the hosts evaluate a watch, and for how long they did not. */
export function watchState(watch: Watch): string {
  if (watch.reason !== undefined) return `ended: ${watch.reason}`;
  const parts: string[] = [];
  for (const { node, evaluates, unknown_since_ns = 0, not_evaluated_ns = 0 } of watch.evaluation ?? []) {
    if (!evaluates) parts.push(`unknown on ${node} since ${clock(unknown_since_ns)}`);
    if (not_evaluated_ns > 0) parts.push(`${duration(not_evaluated_ns)} not evaluated on ${node}`);
  }
  return parts.join("; ") || "active";
}

/** Returns an alert's value, or its bounds if only they are known. */
export function alertValue({ value, low, high }: Alert): string {
  if (value !== undefined && value !== null) return number(value);
  if (low !== undefined && high !== undefined) return `${number(low)} to ${number(high)}`;
  if (low !== undefined) return `at least ${number(low)}`;
  return high === undefined ? "-" : `at most ${number(high)}`;
}

/** Describes why an alert may be wrong; empty if it can't. */
export function alertDoubt({ certain, incomplete, lost_packets = 0 }: Alert): string {
  const parts: string[] = [];
  if (certain === false) parts.push("uncertain");
  if (incomplete === true) parts.push("window incomplete");
  if (lost_packets > 0) parts.push(`up to ${number(lost_packets)} packets lost`);
  return parts.join(", ");
}

function alertRow(alert: Alert): HTMLElement {
  const look = alert.severity === "info" ? "info" : alert.severity === "critical" ? "bad" : "fair";
  const doubt = alertDoubt(alert);
  return h(
    "tr",
    {},
    h("td", {}, clock(alert.window_end_ns, true)),
    h("td", {}, h("span", { class: `pill ${look}` }, alert.severity)),
    h("td", {}, alert.node || "all hosts"),
    h("td", {}, keyText(alert.key)),
    h("td", { class: "number" }, alertValue(alert)),
    h("td", { class: "wide" }, doubt === "" ? alert.watch : `${alert.watch} (${doubt})`),
  );
}
