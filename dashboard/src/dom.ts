/** Makes elements. Text becomes readable text nodes only: what comes from packets is never read as markup, and hides nothing. */
import { readableText } from "./readable";

export type Child = Node | string | number | null | undefined | false;

type Handlers = { [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => void };
export type Properties = Handlers & { [attribute: string]: unknown };

/** Attributes that people read or hear. */
const SHOWN = new Set(["title", "aria-label", "placeholder"]);

/** An element. Properties that begin with "on" are listeners, true is an empty attribute, false and undefined are none. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== undefined && value !== null) {
      element.setAttribute(name, SHOWN.has(name) ? readableText(String(value)) : String(value));
    }
  }
  append(element, ...children);
  return element;
}

export function append(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(shown(parent, String(child))));
  }
}

/** Only what is preformatted has lines. */
function shown(parent: Node, text: string): string {
  return readableText(text, parent instanceof HTMLPreElement);
}

/** Puts other children in the place of an element's own. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, ...children);
}

/** Changes text only where it differs, so that screen readers hear changes alone. */
export function setText(element: Element, text: string): void {
  const readable = shown(element, text);
  if (element.textContent !== readable) element.textContent = readable;
}
