/** The latest link events, each with the flows that used the link. */
import { h, type Child } from "./dom";
import { bitsPerSecond, clock, number, percent } from "./format";
import { table } from "./table";
import type { LinkEvent, LinkEventFlow } from "./types";

/** Maximum number of flows in a table row. */
const SHOWN_FLOWS = 3;
const EXAMPLE =
  'PARSE link_load(link=10000000000, every=1ms, flows_above=0.9) FROM * TO * PROCESS (trigger: when="max(share) > 0.9", group=(switch, port), every=1ms, cooldown=3ms)';

export function eventsView(events: LinkEvent[]): Child {
  if (events.length === 0) return h("p", {}, "No link was full. A query that reports full links: ", h("code", {}, EXAMPLE));
  const rows = events.map((event) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, [event.switch, event.port, event.side].filter((part) => part !== undefined).join(":")),
      h("td", { class: "wide" }, event.neighbour ?? "-"),
      h("td", { class: "number" }, clock(event.time_ns, true)),
      h("td", { class: "number" }, shareOf(event)),
      h("td", { class: "number wide" }, event.bits_per_second === undefined ? "-" : bitsPerSecond(event.bits_per_second)),
      h("td", {}, ...flowsOf(event).map((line) => h("div", {}, line))),
    ),
  );
  return table("Link events", ["Link", "To", "Time (UTC)", "Share of its speed", "Load", "Largest flows"], [2, 3, 4], [1, 4], rows);
}

function shareOf(event: LinkEvent): string {
  if (event.share !== undefined) return percent(event.share);
  return event.low_share === undefined ? "-" : `${percent(event.low_share)} or more`;
}

/** Returns a line for each of the largest flows, and a line with the number of remaining flows. */
export function flowsOf(event: LinkEvent): string[] {
  const flows = event.flows ?? [];
  const lines = flows.slice(0, SHOWN_FLOWS).map((flow) => `${nameOf(flow)} ${flow.bits_per_second === undefined ? "-" : bitsPerSecond(flow.bits_per_second)}`);
  const furtherFlows = flows.length - lines.length + (event.flows_left_out ?? 0);
  return furtherFlows > 0 ? [...lines, `and ${number(furtherFlows)} more`] : lines;
}

function nameOf(flow: LinkEventFlow): string {
  const end = (ip: string, port: number): string => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`);
  return `${end(flow.src_ip, flow.src_port)} to ${end(flow.dst_ip, flow.dst_port)}, ${flow.protocol}:`;
}
