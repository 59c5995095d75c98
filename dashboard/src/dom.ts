/** Creates elements. Text becomes text nodes with invisible characters escaped, so strings from packets can't act as
 * markup or hide anything. */
import { readableText } from "./readable";

export type Child = Node | string | number | null | undefined | false;

type Handlers = { [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => void };
export type Properties = Handlers & { [attribute: string]: unknown };

/** Attributes that users see or that screen readers announce. */
const SHOWN = new Set(["title", "aria-label", "placeholder"]);

/**
 * Creates an element. Properties whose names begin with "on" are listeners. The value true becomes an empty attribute;
 * false, null and undefined are omitted.
 */
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

/** Returns text as displayed. Only preformatted elements keep line breaks. */
function shown(parent: Node, text: string): string {
  return readableText(text, parent instanceof HTMLPreElement);
}

/** Replaces an element's children. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, ...children);
}

/** Sets the text only if it differs, so that screen readers announce only changes. */
export function setText(element: Element, text: string): void {
  const readable = shown(element, text);
  if (element.textContent !== readable) element.textContent = readable;
}
