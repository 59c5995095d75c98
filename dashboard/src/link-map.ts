/** A map of measured links: switches and hosts in rows, each direction of a link coloured by its load. */
import { percent } from "./format";
import { readableText } from "./readable";
import type { MeasuredLink } from "./types";

const SVG = "http://www.w3.org/2000/svg";
const COLUMN = 76;
const ROW = 96;
const NODE_WIDTH = 66;
const NODE_HEIGHT = 22;
/** Distance of each direction's line from the centre line of the link. */
const APART = 5;

export interface Place {
  name: string;
  /** Level of the row: 0 for hosts; a switch's level is its distance from the nearest host. */
  level: number;
  column: number;
}

export interface Direction {
  from: Place;
  to: Place;
  link: MeasuredLink;
  /** The latest share of the link's speed; null if it is not known. */
  share: number | null;
}

export interface LinkMap {
  places: Place[];
  directions: Direction[];
  levels: number;
}

/** Returns the maximum share in the latest window that reports one; null if it is unknown. */
export function latestShare(link: MeasuredLink): number | null {
  const shares = link.loads.filter((load) => load.field === "share" && load.statistic === "max");
  const latest = shares.sort((a, b) => b.window_end_ns - a.window_end_ns).at(0);
  return latest?.value ?? null;
}

/** Returns the links with two known ends; of several from the same switch to the same neighbour, only the first. */
function known(links: MeasuredLink[]): Map<string, MeasuredLink> {
  const ends = new Map<string, MeasuredLink>();
  for (const link of links) {
    if (link.neighbour !== undefined && !ends.has(`${link.switch} ${link.neighbour}`)) {
      ends.set(`${link.switch} ${link.neighbour}`, link);
    }
  }
  return ends;
}

/**
 * Assigns levels by distance from the hosts. Nodes without measured ports are hosts, unless one of them has several
 * neighbours: then only uplinks are measured, and all of these nodes are switches, which go into the upper row.
 */
function levelsOf(links: MeasuredLink[]): Map<string, number> {
  const switches = new Set(links.map((link) => link.switch));
  const neighbours = new Map<string, Set<string>>();
  const join = (a: string, b: string): void => {
    neighbours.set(a, (neighbours.get(a) ?? new Set()).add(b));
  };
  for (const link of links) {
    join(link.switch, link.neighbour!);
    join(link.neighbour!, link.switch);
  }
  const levels = new Map<string, number>();
  let next = [...neighbours.keys()].filter((name) => !switches.has(name));
  if (next.some((name) => neighbours.get(name)!.size > 1)) {
    for (const name of neighbours.keys()) levels.set(name, switches.has(name) ? 1 : 2);
    return levels;
  }
  for (let level = 0; next.length > 0; level++) {
    for (const name of next) levels.set(name, level);
    next = [...new Set(next.flatMap((name) => [...neighbours.get(name)!]))].filter((name) => !levels.has(name));
  }
  for (const name of neighbours.keys()) if (!levels.has(name)) levels.set(name, 1);
  return levels;
}

/** Lays out the links; empty if no link has two known ends. */
export function layout(measured: MeasuredLink[]): LinkMap {
  const links = known(measured);
  const levels = levelsOf([...links.values()]);
  const rows = new Map<number, string[]>();
  for (const [name, level] of levels) rows.set(level, [...(rows.get(level) ?? []), name]);
  const places = new Map<string, Place>();
  const widest = Math.max(0, ...[...rows.values()].map((row) => row.length));
  for (const [level, row] of rows) {
    row.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    row.forEach((name, i) => places.set(name, { name, level, column: ((i + 0.5) * widest) / row.length }));
  }
  return {
    places: [...places.values()],
    directions: [...links.values()].map((link) => ({
      from: places.get(link.switch)!,
      to: places.get(link.neighbour!)!,
      link,
      share: latestShare(link),
    })),
    levels: Math.max(0, ...rows.keys()) + 1,
  };
}

/** Returns the CSS class for a load; the style sheet has the colours. */
export function degree(share: number | null): string {
  if (share === null) return "unknown";
  return share >= 0.9 ? "full" : share >= 0.7 ? "high" : share >= 0.3 ? "medium" : "low";
}

function svg(tag: string, properties: Record<string, string | number>, ...children: (Node | string)[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

function position(map: LinkMap, place: Place): { x: number; y: number } {
  return { x: place.column * COLUMN, y: (map.levels - place.level - 0.5) * ROW };
}

function line(map: LinkMap, direction: Direction): SVGElement {
  const start = position(map, direction.from);
  const end = position(map, direction.to);
  const length = Math.hypot(end.x - start.x, end.y - start.y) || 1;
  // Each direction of a link is drawn on its right-hand side.
  const x = (-(end.y - start.y) / length) * APART;
  const y = ((end.x - start.x) / length) * APART;
  const load = direction.share === null ? "load unknown" : percent(direction.share);
  const title = svg("title", {}, readableText(`${direction.link.switch}:${direction.link.port ?? ""} to ${direction.to.name}: ${load}`));
  return svg(
    "line",
    { x1: start.x + x, y1: start.y + y, x2: end.x + x, y2: end.y + y, class: `load ${degree(direction.share)}` },
    title,
  );
}

function node(map: LinkMap, place: Place): SVGElement {
  const { x, y } = position(map, place);
  const box = { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2, width: NODE_WIDTH, height: NODE_HEIGHT, rx: 5 };
  const name = readableText(place.name);
  const short = name.replace(/^aggregation-/, "agg-");
  const text = svg("text", { x, y: y + 4, "text-anchor": "middle" }, short.length > 11 ? `${short.slice(0, 10)}…` : short);
  return svg("g", { class: place.level === 0 ? "place end" : "place" }, svg("title", {}, name), svg("rect", box), text);
}

/** Draws the map; the table of loads has the same values. Returns null if no link has two known ends. */
export function drawing(links: MeasuredLink[]): SVGElement | null {
  const map = layout(links);
  if (map.directions.length === 0) return null;
  const width = Math.max(...map.places.map((place) => place.column)) * COLUMN + COLUMN / 2;
  const busy = map.directions.filter((direction) => degree(direction.share) === "full").length;
  const label = `Map of ${map.directions.length} measured links; ${busy} at 90 % or more of their speed`;
  const rising = [...map.directions].sort((a, b) => (a.share ?? -1) - (b.share ?? -1));
  return svg(
    "svg",
    { class: "link-map", role: "img", "aria-label": label, viewBox: `0 0 ${width} ${map.levels * ROW}`, width, height: map.levels * ROW },
    ...rising.map((direction) => line(map, direction)),
    ...map.places.map((place) => node(map, place)),
  );
}
