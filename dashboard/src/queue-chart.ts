/** A column chart of the bytes in a queue, stacked by flow. A table below the chart has the values of one column. */
import { h } from "./dom";
import { bytes, clock } from "./format";
import type { Column, Contents, Layer } from "./queue-contents";

/** Called with the flow's layer, or null for the other flows. */
type ChoiceListener = (column: Column, layer: Layer | null) => void;

/** Draws one column for each window; a gap remains empty. */
export function queueChart(contents: Contents, selected: Column | null, chosen: ChoiceListener): HTMLElement {
  const columns = contents.slots.filter((slot): slot is Column => slot !== null);
  const top = columns.reduce((max, column) => Math.max(max, heightOf(column)), 0);
  const bars = contents.slots.map((slot) =>
    slot === null
      ? h("div", { class: "gap", title: "unknown: no packet left or arrived, or the queue was not measured" })
      : columnBar(slot, contents.flows, top, slot.endNs === selected?.endNs, chosen),
  );
  const label = `Bytes in the queue over time, up to ${bytes(top)}. The table below has the values of an interval.`;
  return h(
    "figure",
    { class: "queue-chart" },
    h("div", { class: "scale", "aria-hidden": "true" }, h("span", {}, bytes(top)), h("span", {}, bytes(top / 2)), h("span", {}, "0 B")),
    h("div", { class: "columns", role: "img", "aria-label": label }, ...bars),
    h("div", { class: "times", "aria-hidden": "true" }, h("span", {}, clock(columns.at(0)?.endNs ?? 0, true)), h("span", {}, clock(columns.at(-1)?.endNs ?? 0, true))),
  );
}

export function heightOf(column: Column): number {
  return column.depth ?? column.layers.reduce((sum, layer) => sum + layer.height, 0);
}

function columnBar(column: Column, flows: string[], top: number, isSelected: boolean, chosen: ChoiceListener): HTMLElement {
  const time = `${clock(column.endNs, true)}${column.partial ? " (partial)" : ""}`;
  const part = (name: string, size: number, value: number, style: string, layer: Layer | null) => {
    const element = h("i", { class: style, title: `${time} · ${name}: ${bytes(value)}`, onclick: () => chosen(column, layer) });
    element.style.height = `${top > 0 ? (100 * size) / top : 0}%`;
    return element;
  };
  const layers = column.layers.map((layer) => part(layer.flow, layer.height, layer.bytes, `flow-${flows.indexOf(layer.flow) + 1}`, layer));
  const otherPart = column.other ? [part("other flows", column.other, column.other, "other", null)] : [];
  // The first flow is at the bottom.
  const state = `column${isSelected ? " selected" : ""}${column.partial ? " partial" : ""}`;
  return h("div", { class: state }, ...otherPart, ...layers.reverse());
}

/** Lists the flows with their colours. */
export function queueLegend({ flows }: Contents, hasDepth: boolean): HTMLElement {
  const item = (name: string, style: string) => h("li", {}, h("i", { class: style, "aria-hidden": "true" }), name);
  return h("ul", { class: "legend queue-legend" }, ...flows.map((flow, index) => item(flow, `flow-${index + 1}`)), hasDepth && item("other flows", "other"));
}
