/** The MultiLog nodes and agents, with their state, losses and load. */
import type { Api } from "./api";
import { fill, h, type Child } from "./dom";
import { explained } from "./drill";
import { bytes, duration, number, percent } from "./format";
import { every, type Page } from "./page";
import { table } from "./table";
import type { Agent, MultilogNode } from "./types";

const REFRESH_MS = 2_000;

export class NodesPage implements Page {
  readonly title = "Nodes";
  readonly element: HTMLElement;
  private readonly content = h("div", { class: "stack" }, h("p", { class: "progress" }, "Querying the nodes…"));
  private readonly stop: () => void;
  private shown = "";

  constructor(private readonly api: Api) {
    this.element = h("div", { class: "page" }, h("section", { class: "card", "aria-label": "Nodes" }, h("h1", {}, "Nodes"), this.content));
    this.stop = every(REFRESH_MS, () => this.refresh());
  }

  private async refresh(): Promise<void> {
    try {
      const response = await this.api.get<{ nodes: MultilogNode[]; agents: Agent[] }>("/api/v1/nodes");
      const shown = JSON.stringify(response);
      if (shown !== this.shown) fill(this.content, ...nodesView(response.nodes), ...agentsView(response.agents));
      this.shown = shown;
    } catch (error) {
      this.shown = "";
      fill(this.content, h("p", { class: "message bad" }, explained(error)));
    }
  }

  recovered(): void {
    void this.refresh();
  }

  close(): void {
    this.stop();
  }
}

function nodesView(nodes: MultilogNode[]): Child[] {
  if (nodes.length === 0) {
    return [h("p", {}, "The server has no MultiLog node, so there are no headers to drill down to. Start it with ", h("code", {}, "--multilog NAME=HOST:PORT"), ".")];
  }
  const rows = nodes.map((node) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, node.node),
      h("td", {}, pill(node.state, node.state === "up"), node.error && h("p", { class: "message bad" }, node.error)),
      h("td", { class: "number wide" }, node.packets === undefined ? "-" : number(node.packets)),
      h("td", { class: "number" }, node.rows === undefined ? "-" : number(node.rows)),
      h("td", {}, losses(node.dropped)),
      h("td", { class: "number wide" }, node.memory_bytes === undefined ? "-" : bytes(node.memory_bytes)),
      h("td", { class: "wide" }, node.address),
    ),
  );
  return [h("h2", {}, "MultiLog nodes"), table("MultiLog nodes", ["Node", "State", "Packets", "Headers kept", "Lost", "Memory", "Address"], [2, 3, 5], [2, 5, 6], rows)];
}

function agentsView(agents: Agent[]): Child[] {
  if (agents.length === 0) return [];
  const rows = agents.map((agent) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, agent.agent),
      h("td", {}, pill(agent.state, agent.state === "up")),
      h("td", { class: "wide" }, agent.interface ?? "-"),
      h("td", { class: "number" }, agent.load === undefined ? "-" : percent(agent.load)),
      h("td", { class: "number wide" }, agent.clock_offset_ns === undefined ? "-" : `${duration(agent.clock_offset_ns)} ± ${duration(agent.clock_error_ns ?? 0)}`),
      h("td", {}, ...agent.queries.map((id) => h("a", { href: `#/queries/${id}` }, `${id} `))),
      h("td", { class: "number wide" }, agent.cores ?? "-"),
    ),
  );
  return [h("h2", {}, "Agents"), table("Agents", ["Host", "State", "Interface", "Load", "Clock", "Queries", "Cores"], [3, 4, 6], [2, 4, 6], rows)];
}

function losses(dropped: Record<string, number> | undefined): Child {
  const lost = Object.entries(dropped ?? {}).filter(([, count]) => count > 0);
  if (dropped === undefined) return "-";
  if (lost.length === 0) return "nothing";
  return h("span", {}, ...lost.map(([reason, count]) => h("span", { class: "fact bad" }, h("b", {}, number(count)), ` ${reason}`)));
}

function pill(text: string, good: boolean): HTMLElement {
  return h("span", { class: `pill ${good ? "good" : "bad"}` }, text);
}
