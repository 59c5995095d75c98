package io.tapline.compiler.network;

import io.tapline.network.Topology;
import io.tapline.placement.Layout;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;

/**
 * Draws the part of a network that a plan uses, as SVG: edge switches with the numbers of their
 * rules, hosts with their processes, and curves between the processes that exchange tuples.
 */
public final class TreeDrawing {
  private static final int COLUMN = 190;
  private static final int LEFT = 20;
  private static final int TOP_Y = 40;
  private static final int EDGE_Y = 130;
  private static final int HOST_Y = 230;
  private static final int LINE = 18;

  private final NetworkPlan plan;
  private final Topology topology;
  private final List<Integer> hosts;
  private final StringBuilder svg = new StringBuilder();

  private TreeDrawing(NetworkPlan plan) {
    this.plan = plan;
    this.topology = plan.network().topology();
    TreeSet<Integer> used = new TreeSet<>();
    plan.layout().monitors().forEach(p -> used.add(p.host()));
    plan.layout().aggregators().forEach(p -> used.add(p.host()));
    plan.layout().processors().forEach(p -> used.add(p.host()));
    this.hosts = List.copyOf(used);
  }

  /** Returns the drawing as SVG. */
  public static String svg(NetworkPlan plan) {
    return new TreeDrawing(plan).draw();
  }

  private String draw() {
    int max = hosts.stream().mapToInt(host -> processes(host).size()).max().orElse(1);
    int width = 2 * LEFT + COLUMN * hosts.size();
    int height = HOST_Y + 60 + LINE * max;
    svg.append(
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">
        <rect width="100%%" height="100%%" fill="white"/>
        """
            .formatted(width, height));
    int root = width / 2;
    box(root, TOP_Y, topology.kind(), "#eeeeee");
    TreeSet<Integer> edges = new TreeSet<>();
    hosts.forEach(host -> edges.add(topology.edgeOf(host)));
    for (int edge : edges) {
      int x = middle(edge);
      segment(root, TOP_Y + 14, x, EDGE_Y - 14, "#999999", "");
      String name = topology.edgeName(edge);
      int rules = plan.tables().containsKey(name) ? plan.tables().get(name).rules().size() : 0;
      box(x, EDGE_Y, name + (rules > 0 ? ": %d rules".formatted(rules) : ""), "#d9e8f6");
    }
    for (int host : hosts) {
      host(host);
    }
    Layout layout = plan.layout();
    for (int m = 0; m < layout.monitors().size(); m++) {
      int host = layout.aggregators().get(layout.aggregatorOfMonitor()[m]).host();
      way(layout.monitors().get(m).host(), host);
    }
    for (Layout.Stream stream : layout.streams()) {
      way(
          layout.aggregators().get(stream.aggregator()).host(),
          layout.processors().get(stream.processor()).host());
    }
    return svg.append("</svg>\n").toString();
  }

  private int x(int host) {
    return LEFT + COLUMN * hosts.indexOf(host) + COLUMN / 2;
  }

  private int middle(int edge) {
    return (int)
        hosts.stream()
            .filter(h -> topology.edgeOf(h) == edge)
            .mapToInt(this::x)
            .average()
            .orElse(0);
  }

  private List<String> processes(int host) {
    List<String> names = new ArrayList<>();
    names(names, "monitor", plan.layout().monitors(), host);
    names(names, "aggregator", plan.layout().aggregators(), host);
    names(names, "processor", plan.layout().processors(), host);
    return names;
  }

  private static void names(
      List<String> names, String kind, List<Layout.Process> processes, int host) {
    for (int i = 0; i < processes.size(); i++) {
      if (processes.get(i).host() == host) {
        names.add("%s-%d, %.4g Mbit/s".formatted(kind, i, processes.get(i).inputBps() / 1e6));
      }
    }
  }

  private void host(int host) {
    segment(middle(topology.edgeOf(host)), EDGE_Y + 14, x(host), HOST_Y - 14, "#999999", "");
    box(x(host), HOST_Y, topology.host(host).name(), "#e5f3e2");
    List<String> names = processes(host);
    for (int i = 0; i < names.size(); i++) {
      text(x(host), HOST_Y + 34 + LINE * i, names.get(i));
    }
  }

  /** Draws a dashed curve above the hosts, so that it can't be mistaken for a link. */
  private void way(int sourceHost, int targetHost) {
    if (sourceHost != targetHost) {
      svg.append(
          "<path d=\"M%d %d Q%d %d %d %d\" fill=\"none\" stroke=\"#d55e00\" stroke-dasharray=\"4 3\"/>\n"
              .formatted(
                  x(sourceHost),
                  HOST_Y - 14,
                  (x(sourceHost) + x(targetHost)) / 2,
                  EDGE_Y + 30,
                  x(targetHost),
                  HOST_Y - 14));
    }
  }

  private void box(int x, int y, String text, String colour) {
    svg.append(
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"28\" rx=\"4\" fill=\"%s\" stroke=\"#666666\"/>\n"
            .formatted(x - COLUMN / 2 + 8, y - 14, COLUMN - 16, colour));
    text(x, y + 4, text);
  }

  private void text(int x, int y, String text) {
    String safe = text.replace("&", "&amp;").replace("<", "&lt;");
    svg.append("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n".formatted(x, y, safe));
  }

  private void segment(int x1, int y1, int x2, int y2, String colour, String more) {
    svg.append(
        String.format(
            Locale.ROOT,
            "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\"%s/>%n",
            x1,
            y1,
            x2,
            y2,
            colour,
            more));
  }
}
