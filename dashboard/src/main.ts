/** The frame around the pages: navigation, light or dark theme, and the state of the server. */
import { Api } from "./api";
import { fill, h, setText } from "./dom";
import { LinkBar } from "./link";
import { LinksPage } from "./links-page";
import { NodesPage } from "./nodes-page";
import type { Page } from "./page";
import { QueriesPage } from "./queries-page";
import { QueryPage } from "./query-page";
import { QueuePage } from "./queue-page";
import { WatchesPage } from "./watches-page";

const THEME = "tapline.theme";
const PAGES: [string, string][] = [["#/queries", "Queries"], ["#/links", "Links"], ["#/nodes", "Nodes"], ["#/watches", "Watches"]];

const api = new Api();
let page: Page | null = null;
const links = PAGES.map(([hash, name]) => h("a", { href: hash }, name));
const content = h("main", { id: "content", tabindex: "-1" });
const bar = new LinkBar(api, () => page?.recovered?.());

function open(hash: string): Page {
  const query = /^#\/queries\/([a-z0-9-]+)$/.exec(hash);
  if (query) return new QueryPage(api, query[1]);
  const queue = /^#\/queues\/([\w.-]+)\/([\w.-]+)$/.exec(hash);
  if (queue) return new QueuePage(api, `${queue[1]}:${queue[2]}`);
  if (hash === "#/links") return new LinksPage(api);
  if (hash === "#/nodes") return new NodesPage(api);
  if (hash === "#/watches") return new WatchesPage(api);
  return new QueriesPage(api);
}

function navigate(): void {
  const first = page === null;
  page?.close();
  page = open(location.hash);
  document.title = `${page.title} · Tapline`;
  for (const link of links) {
    const isCurrent = link.hash === location.hash || (link.hash === "#/links" && page instanceof QueuePage) || (link.hash === "#/queries" && !(page instanceof QueuePage) && !PAGES.some(([hash]) => hash === location.hash));
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  fill(content, page.element);
  scrollTo(0, 0);
  if (!first) content.focus({ preventScroll: true });
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const themeButton = h("button", { type: "button", class: "quiet-button", onclick: () => switchTheme() });

function isDark(): boolean {
  const chosen = localStorage.getItem(THEME);
  return chosen === null ? dark.matches : chosen === "dark";
}

function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  setText(themeButton, isDark() ? "Light" : "Dark");
  themeButton.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  page?.redraw?.();
}

function switchTheme(): void {
  localStorage.setItem(THEME, isDark() ? "light" : "dark");
  applyTheme();
}

const brand = h("a", { class: "brand", href: "#/queries" }, "Tapline");
fill(
  document.getElementById("app")!,
  h("a", { class: "skip", href: "#content", onclick: (event) => (event.preventDefault(), content.focus()) }, "Skip to content"),
  h("header", { class: "top" }, brand, h("nav", { "aria-label": "Pages" }, ...links), themeButton),
  bar.element,
  content,
);
applyTheme();
dark.addEventListener("change", applyTheme);
addEventListener("hashchange", navigate);
// Opens the first page in a separate task, since loading this code and laying out the frame already take one.
setTimeout(navigate);
