/** Shows a plan to users as a tree: the monitors, the processing of their data, and its cost. */
import { h, type Child } from "./dom";
import { bitsPerSecond, counted, number, percent, planDuration } from "./format";
import type { Explanation, Placement, Plan, PlanAddress, PlanFilter, PlanProcessor } from "./types";

export function planView({ plan, notes, placement, text }: Explanation): HTMLElement {
  return h(
    "div",
    { class: "plan" },
    notes.length > 0 && h("ul", { class: "notes" }, ...notes.map((note) => h("li", {}, note))),
    tree(plan, placement),
    placement && cost(placement),
    rules(plan, placement),
    h("details", {}, h("summary", {}, "The plan as text"), h("pre", { tabindex: "0" }, text)),
  );
}

function branch(title: string, content: Child, ...children: (HTMLElement | null)[]): HTMLElement {
  const below = children.filter((child) => child !== null);
  return h("li", {}, h("span", { class: "branch" }, h("b", {}, title), " ", content), below.length > 0 && h("ul", {}, ...below));
}

function tree(plan: Plan, placement?: Placement): HTMLElement {
  const processors = plan.processors.map((processor) => branch(processor.name, processorText(processor)));
  const stream = branch("stream", streamText(plan, placement), ...processors);
  const parsers = branch("parse", (plan.parsers ?? []).join(", "), conditions(plan), stream);
  const monitors = branch("monitor", monitorText(plan, placement), parsers);
  return h("ul", { class: "tree" }, branch("packets", matchText(plan), monitors));
}

function streamText({ topic }: Plan, placement?: Placement): string {
  const parts = [topic ?? ""];
  if (placement?.aggregators.length) parts.push(`gathered on ${hosts(placement.aggregators)}`);
  if (placement?.processors.length) parts.push(`processed on ${hosts(placement.processors)}`);
  return parts.join(" · ");
}

function hosts(processes: { host: string; input_bps: number }[]): string {
  return processes.map(({ host, input_bps }) => `${host} (${bitsPerSecond(input_bps)})`).join(", ");
}

function conditions({ filters }: Plan): HTMLElement | null {
  return filters?.length ? branch("keep", filters.map(filterText).join(" and ")) : null;
}

function filterText({ parsers, text }: PlanFilter, _: number, all: PlanFilter[]): string {
  return all.length > 1 ? `${parsers.join(", ")}: ${text}` : text;
}

function matchText(plan: Plan): string {
  const match = plan.match ?? {};
  const parts = [`from ${addresses(match.from)} to ${addresses(match.to)}`];
  if (plan.queues?.length) parts[0] = `at ${plan.queues.map((queue) => `${queue.switch_name}:${queue.port}`).join(", ")}`;
  if (plan.reported) parts.push(`report from ${addresses(plan.reported.from)} to ${addresses(plan.reported.to)}`);
  if (match.vlans?.length) parts.push(`VLAN ${match.vlans.join(", ")}`);
  if (match.tenants?.length) parts.push(`tenant ${match.tenants.join(", ")}`);
  if (plan.limit?.duration) parts.push(`for ${planDuration(plan.limit.duration)}`);
  if (plan.limit?.packets) parts.push(`${number(plan.limit.packets)} packets`);
  return parts.join(" · ");
}

function addresses(list: PlanAddress[] | undefined): string {
  if (!list?.length) return "anywhere";
  return list.map(({ host, prefix, port, last_port }) => {
    const ports = port === undefined ? "" : `:${port}${last_port ? `-${last_port}` : ""}`;
    return (host ? `${host} (${prefix})` : (prefix ?? "*")) + ports;
  }).join(", ");
}

function monitorText(plan: Plan, placement?: Placement): string {
  const names = placement ? hosts(placement.monitors) : (plan.monitors ?? []).map(({ id, host }) => host ?? id).join(", ");
  const { mode, rate } = plan.sampling ?? {};
  const kept = mode === undefined ? "every flow" : mode === "AUTO" ? `sampling by load, ${percent(rate ?? 1)} of flows at first` : `${percent(rate ?? 1)} of flows`;
  return `${names} · ${kept}`;
}

export function processorText(processor: PlanProcessor): string {
  const { parser, join, key, window, ranking } = processor;
  const parts = [`${valueText(processor)}${key?.length ? ` by ${key.join(", ")}` : ""}`];
  if (parser) parts.push(`from ${parser}${join ? ` with ${join.fields.join(", ")} of ${join.parser}` : ""}`);
  if (ranking) parts.push(`${ranking.ascending ? "smallest" : "largest"} ${ranking.k}`);
  parts.push(windowText(window));
  return parts.join(" · ");
}

function valueText({ value, aggregate }: PlanProcessor): string {
  if (value?.condition_text) return `${aggregate === "AVG" ? "share" : "count"} of ${value.condition_text}`;
  const measured = value?.difference ? "duration" : (value?.field ?? "tuples");
  return `${(aggregate ?? "COUNT").toLowerCase()} of ${measured}`;
}

function windowText(window: PlanProcessor["window"]): string {
  if (!window?.size) return `the whole query, shown every ${planDuration(window?.slide ?? "10s")}`;
  const slide = window.slide && window.slide !== window.size ? ` every ${planDuration(window.slide)}` : "";
  return `windows of ${planDuration(window.size)}${slide}`;
}

function rules(plan: Plan, placement?: Placement): HTMLElement {
  if (!plan.rules?.length) {
    const reason = placement ? "No new rules are needed: rules of other queries already mirror all of this traffic." : "No mirror rules: the monitor captures from the interface or tap that the server was started with.";
    return h("p", { class: "quiet" }, reason);
  }
  const rows = plan.rules.map((rule) =>
    h("tr", {}, h("th", { scope: "row" }, rule.switch_id), h("td", { class: "number" }, rule.priority), h("td", { class: "code" }, ...atCommas(rule.match)), h("td", { class: "code" }, ...atCommas(rule.actions.join(",")))),
  );
  return h(
    "details",
    { open: plan.rules.length <= 4 },
    h("summary", {}, counted(plan.rules.length, "mirror rule")),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Mirror rules" },
      h("table", {}, h("thead", {}, h("tr", {}, ...["Switch", "Priority", "Match", "Actions"].map((name) => h("th", { scope: "col", class: name === "Priority" ? "number" : undefined }, name)))), h("tbody", {}, ...rows))),
  );
}

/** Returns text that may wrap after its commas. */
function atCommas(text: string): Child[] {
  return text.split(/(?<=,)/).flatMap((part, index) => (index === 0 ? [part] : [h("wbr"), part]));
}

function cost(placement: Placement): HTMLElement {
  const links = Object.entries(placement.extra_bps).map(([level, bps]) => `${level} links ${bitsPerSecond(bps)}`);
  const rules = Object.entries(placement.rules).map(([name, count]) => `${name} ${count}`);
  return h(
    "dl",
    { class: "facts" },
    h("dt", {}, "Network"), h("dd", {}, placement.network),
    h("dt", {}, "Mirrored at"), h("dd", {}, `the switches of the ${placement.mirrored_at} side`),
    h("dt", {}, "Extra traffic"), h("dd", {}, links.join(", ") || "none"),
    h("dt", {}, "Rules in mirror tables"), h("dd", {}, rules.join(", ") || "none"),
  );
}
