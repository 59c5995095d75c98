"""Draws the components of the code and their dependencies as SVG, from the tables in make/includes.txt and make/packages.txt.

A component is a top-level folder of the repository. `parsers/api` is drawn separately, since every folder may include it. An arrow leads
from a component to one that it may use; arrows that others imply are omitted. The arrows come from the tables, and the boxes'
positions from PLACES, which has a line for each component.
"""

import graphlib
import html
from dataclasses import dataclass

PICTURE = "docs/explanation/architecture.svg"
# Java packages whose component has another name.
MODULES = {"compiler": "query-compiler", "sdn": "sdn-app", "flink": "flink-jobs", "control": "control-plane"}
SEPARATE = "parsers/api"
SHARED = "schema"
WIDTH, ROW, TOP, HEIGHT, MARGIN = 900, 72, 30, 44, 14


@dataclass(frozen=True)
class Place:
    left: int
    width: int
    row: int
    task: str


PLACES = {
    ("C++", "monitors"): Place(4, 304, 1, "packets → tuples, live and from captures"),
    ("C++", "parsers"): Place(4, 144, 2, "protocols, triggers"),
    ("C++", "multilog"): Place(164, 144, 2, "headers kept on hosts"),
    ("C++", "conditions"): Place(4, 304, 3, "filters, as vector code"),
    ("C++", "packet_io"): Place(4, 220, 4, "DPDK, capture files"),
    ("C++", "parsers/api"): Place(4, 220, 5, "headers of a packet"),
    ("Java", "bench"): Place(360, 536, 0, "comparisons with baselines"),
    ("Java", "control-plane"): Place(360, 536, 1, "server, REST, command line"),
    ("Java", "sim"): Place(360, 124, 2, "simulations"),
    ("Java", "query-compiler"): Place(500, 250, 2, "query → plan"),
    ("Java", "sdn-app"): Place(766, 130, 2, "OpenFlow controller"),
    ("Java", "flink-jobs"): Place(360, 114, 3, "tuples → windows"),
    ("Java", "conditions"): Place(360, 124, 4, "filters"),
    ("Java", "aggregates"): Place(500, 117, 4, "sums, ranks"),
    ("Java", "placement"): Place(633, 117, 4, "host selection"),
    ("Java", "network"): Place(360, 536, 5, "inventory, topology, mirror rules"),
    ("", SHARED): Place(4, 892, 6, "tuple batches, plans, agents, Redis keys: where the languages meet"),
}
STYLE = """<style>
  rect { fill: #f3f6fb; stroke: #5b7083; rx: 6px }
  text { fill: #16232f; text-anchor: middle }
  .name { font-weight: 600 }
  .task { font-size: 12px; fill: #4a5c6b }
  .language { fill: #6b8094 }
  path { fill: none; stroke: #5b7083; stroke-width: 1.4; marker-end: url(#head) }
  #head path { fill: #5b7083; stroke: none; marker-end: none }
  @media (prefers-color-scheme: dark) {
    rect { fill: #1c2733; stroke: #8fa3b5 }
    text { fill: #e8eef4 }
    .task { fill: #b1c0cd }
    path { stroke: #8fa3b5 }
    #head path { fill: #8fa3b5 }
  }
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>"""


def component(language, folder):
    """Returns the component to which a folder or package in a table belongs."""
    if folder == SEPARATE:
        return language, folder
    name = folder.replace(".", "/").split("/")[0]
    return ("", SHARED) if name == SHARED else (language, MODULES.get(name, name))


def uses(tables):
    """Returns the components that each component may use, from {language: (rules, everywhere)}."""
    edges = {("", SHARED): set()}
    for language, (rules, everywhere) in tables.items():
        for folder, allowed in rules.items():
            own = component(language, folder)
            others = {component(language, name) for name in [*allowed, *everywhere]}
            edges.setdefault(own, set()).update(others - {own})
    return edges


def arrows(uses):
    """Returns the pairs (component, used component) that other pairs do not imply. Raises CycleError if there is a cycle."""
    reached = {}
    for user in graphlib.TopologicalSorter(uses).static_order():
        reached[user] = set(uses.get(user, ())).union(*(reached[used] for used in uses.get(user, ())))
    return sorted((user, used) for user, others in uses.items() for used in others
                  if not any(used in reached[used_too] for used_too in others - {used}))


def name(component):
    language, folder = component
    return f"{folder} ({language})" if language else folder


def faults(uses):
    """Returns messages about components that lack a place in the drawing, and about unnecessary places."""
    missing = [f"make/components.py: PLACES has no line for {name(component)}" for component in sorted(set(uses) - set(PLACES))]
    return missing + [f"make/components.py: PLACES has a line for {name(component)}, which no table names" for component in sorted(set(PLACES) - set(uses))]


def arrow(place, used):
    """Returns a line from the bottom of one box to the top of another, as vertical as their positions allow."""
    def within(x, box):
        return max(box.left + MARGIN, min(x, box.left + box.width - MARGIN))

    begin = within(used.left + used.width // 2, place)
    return f'<path d="M{begin} {TOP + place.row * ROW + HEIGHT}L{within(begin, used)} {TOP + used.row * ROW}"/>'


def box(component, place):
    left, top = place.left, TOP + place.row * ROW
    middle = left + place.width // 2
    return (f'<rect x="{left}" y="{top}" width="{place.width}" height="{HEIGHT}"/><text class="name" x="{middle}" y="{top + 18}">'
            f'{component[1]}</text><text class="task" x="{middle}" y="{top + 35}">{html.escape(place.task)}</text>')


def svg(uses):
    """Returns the drawing. REQUIRES: faults(uses) is empty."""
    edges = arrows(uses)
    described = "; ".join(f"{name(user_component)} uses {', '.join(name(used) for user, used in edges if user == user_component)}"
                          for user_component in sorted({user for user, _ in edges}))
    height = TOP + 6 * ROW + HEIGHT + 4
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" font-size="14" role="img" '
        f'aria-label="{described}.">', "<!-- Written by make/includes. -->", STYLE,
        f'<text class="language" x="156" y="{TOP + ROW - 10}">C++</text><text class="language" x="628" y="18">Java</text>',
        *(arrow(PLACES[user_component], PLACES[used]) for user_component, used in edges),
        *(box(component, place) for component, place in PLACES.items()), "</svg>"]) + "\n"
