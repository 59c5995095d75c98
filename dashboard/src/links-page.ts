/** Link loads, the latest link events, and queue bursts, as queries last measured them. */
import type { Api } from "./api";
import { fill, h, type Child } from "./dom";
import { explained } from "./drill";
import { bitsPerSecond, clock, duration, number, percent } from "./format";
import { eventsView } from "./link-events";
import { drawing } from "./link-map";
import { every, type Page } from "./page";
import { table } from "./table";
import type { LinkEvent, LinkLoad, MeasuredLink, MeasuredQueue } from "./types";

const LINKS_MS = 1_000;
const EVENTS_MS = 2_000;
const EVENTS = 20;
const QUEUES_MS = 10_000;
const LINKS_EXAMPLE = "PARSE link_load(link=10000000000) FROM * TO * PROCESS (group-max: by=share, group=(switch, port), w=1s)";
const QUEUES_EXAMPLE = "PARSE queue_burst(delay=1ms) FROM * TO * AT leaf1:spine2 PROCESS (top-k)";

export class LinksPage implements Page {
  readonly title = "Links";
  readonly element: HTMLElement;
  private readonly links = h("div", { class: "stack" }, h("p", { class: "progress" }, "Reading the loads…"));
  private readonly events = h("div", { class: "stack" });
  private readonly queues = h("div", { class: "stack" });
  private readonly stops: (() => void)[];
  private shownLinks = "";
  private shownEvents = "";
  private shownQueues = "";

  constructor(private readonly api: Api) {
    this.element = h(
      "div",
      { class: "page" },
      h("section", { class: "card", "aria-label": "Links" }, h("h1", {}, "Links"), this.links),
      h("section", { class: "card", "aria-label": "Events" }, h("h2", {}, "Events"), this.events),
      h("section", { class: "card", "aria-label": "Queues" }, h("h2", {}, "Queues"), this.queues),
    );
    this.stops = [every(LINKS_MS, () => this.refreshLinks()), every(EVENTS_MS, () => this.refreshEvents()), every(QUEUES_MS, () => this.refreshQueues())];
  }

  private async refreshLinks(): Promise<void> {
    try {
      const { links } = await this.api.get<{ links: MeasuredLink[] }>("/api/v1/links");
      const shown = JSON.stringify(links);
      if (shown !== this.shownLinks) fill(this.links, mapView(links), linksView(links));
      this.shownLinks = shown;
    } catch (error) {
      this.shownLinks = "";
      fill(this.links, message(error));
    }
  }

  private async refreshEvents(): Promise<void> {
    try {
      const { events } = await this.api.get<{ events: LinkEvent[] }>(`/api/v1/links/events?limit=${EVENTS}`);
      const shown = JSON.stringify(events);
      if (shown !== this.shownEvents) fill(this.events, eventsView(events));
      this.shownEvents = shown;
    } catch (error) {
      this.shownEvents = "";
      fill(this.events, message(error));
    }
  }

  private async refreshQueues(): Promise<void> {
    try {
      const { queues } = await this.api.get<{ queues: MeasuredQueue[] }>("/api/v1/queues");
      const shown = JSON.stringify(queues);
      if (shown !== this.shownQueues) fill(this.queues, queuesView(queues));
      this.shownQueues = shown;
    } catch (error) {
      this.shownQueues = "";
      fill(this.queues, message(error));
    }
  }

  recovered(): void {
    void this.refreshLinks();
    void this.refreshEvents();
    void this.refreshQueues();
  }

  close(): void {
    for (const stop of this.stops) stop();
  }
}

function message(error: unknown): HTMLElement {
  return h("p", { class: "message bad" }, explained(error));
}

/** A line of the table: the values of a link's statistic in one window of one query. */
export interface Line {
  link: MeasuredLink;
  statistic: string;
  query: string;
  ended: boolean;
  end: number;
  partial: boolean;
  share: number | null;
  bitsPerSecond: number | null;
}

/**
 * Returns the table's lines in descending order of share. Links whose share is unknown follow, in their original order.
 */
export function lines(links: MeasuredLink[]): Line[] {
  return links.flatMap(linesOf).sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
}

function linesOf(link: MeasuredLink): Line[] {
  const windows = new Map<string, Line>();
  for (const load of link.loads) {
    const key = `${load.statistic} ${load.query} ${load.window_end_ns}`;
    const line = windows.get(key) ?? emptyLine(link, load);
    windows.set(key, line);
    if (load.field === "share") line.share = load.value;
    if (load.field === "bits_per_second") line.bitsPerSecond = load.value;
  }
  return [...windows.values()];
}

function emptyLine(link: MeasuredLink, load: LinkLoad): Line {
  return {
    link,
    statistic: load.statistic,
    query: load.query,
    ended: load.state !== "running",
    end: load.window_end_ns,
    partial: load.partial,
    share: null,
    bitsPerSecond: null,
  };
}

function mapView(links: MeasuredLink[]): Child {
  const map = drawing(links);
  if (map === null) return null;
  const degrees = [
    ["low", "below 30 %"],
    ["medium", "30 %"],
    ["high", "70 %"],
    ["full", "90 % and above"],
    ["unknown", "unknown"],
  ].map(([degree, text]) => h("span", { class: `degree ${degree}` }, text));
  const keys = h("p", { class: "degrees" }, "Share of a link's speed, each direction on its right-hand side: ", ...degrees);
  return h("div", { class: "map", tabindex: 0, role: "region", "aria-label": "Map of links" }, map, keys);
}

function linksView(links: MeasuredLink[]): Child {
  if (links.length === 0) {
    return h("p", {}, "No query has measured links. An example: ", h("code", {}, LINKS_EXAMPLE));
  }
  const rows = lines(links).map((line) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, placeOf(line.link)),
      h("td", { class: "wide" }, line.link.neighbour ?? "-"),
      h("td", {}, line.statistic),
      shareCell(line),
      h("td", { class: "number" }, line.bitsPerSecond === null ? "-" : bitsPerSecond(line.bitsPerSecond)),
      h("td", { class: "number wide" }, clock(line.end), line.partial && " (partial)"),
      queryCell(line.query, line.ended),
    ),
  );
  return table("Link loads", ["Link", "To", "Value", "Share of its speed", "Load", "Window end (UTC)", "Query"], [3, 4, 5], [1, 5, 6], rows);
}

function placeOf(link: MeasuredLink): string {
  return [link.switch, link.port, link.side].filter((part) => part !== undefined).join(":");
}

function shareCell(line: Line): HTMLElement {
  if (line.share === null) return h("td", { class: "number" }, "-");
  const bar = h("i", { class: line.partial ? "bar hollow" : "bar", "aria-hidden": "true" });
  bar.style.width = `${Math.min(100, 100 * line.share)}%`;
  return h("td", { class: "number value" }, bar, h("span", {}, percent(line.share)));
}

function queryCell(id: string, ended: boolean): HTMLElement {
  return h("td", { class: "wide" }, h("a", { href: `#/queries/${id}` }, id), ended && " (ended)");
}

/** Returns the address of a queue's page. */
export function queueHash(queue: string): string {
  return `#/queues/${queue.replace(":", "/")}`;
}

function queuesView(queues: MeasuredQueue[]): Child {
  if (queues.length === 0) {
    return h("p", {}, "No query measures queues. An example: ", h("code", {}, QUEUES_EXAMPLE));
  }
  const rows = queues.map((queue) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("a", { href: queueHash(queue.queue) }, queue.queue)),
      h("td", { class: "wide" }, queue.neighbour ?? "-"),
      h("td", { class: "number" }, `${number(queue.bursts)}${queue.incomplete ? "+" : ""}`),
      h("td", { class: "number" }, queue.delay_ns === undefined ? "-" : duration(queue.delay_ns)),
      h("td", { class: "number wide" }, number(queue.lost)),
      h("td", { class: "number wide" }, queue.latest_ns === undefined ? "-" : clock(queue.latest_ns, true)),
      h("td", {}, queue.verdict.at(1) ?? queue.verdict.at(0) ?? "-"),
    ),
  );
  return table("Queue bursts", ["Queue", "To", "Bursts", "Longest wait", "Lost", "Latest (UTC)", "Cause"], [2, 3, 4, 5], [1, 4, 5], rows);
}
