/** Tables of a page. */
import { h } from "./dom";

/**
 * Builds a table that scrolls on narrow screens.
 *
 * @param numbers indices of the columns with numbers
 * @param wide indices of the columns that only wide screens show
 * @param rows the rows, whose cells must have the corresponding classes
 */
export function table(label: string, names: string[], numbers: number[], wide: number[], rows: HTMLElement[]): HTMLElement {
  const style = (index: number) => `${numbers.includes(index) ? "number " : ""}${wide.includes(index) ? "wide" : ""}`;
  const head = names.map((name, index) => h("th", { scope: "col", class: style(index) }, name));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows)));
}
