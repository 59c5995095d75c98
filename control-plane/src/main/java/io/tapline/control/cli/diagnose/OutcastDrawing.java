package io.tapline.control.cli.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Draws switches, and the number of segments that each link carried towards a host, with the host
 * on top (Confluo, Figure 10(c)).
 */
final class OutcastDrawing {
  private static final int WIDTH = 760;
  private static final int ROW = 90;
  private static final int TOP = 50;

  /** ID of the host in the report's links; no switch has this ID. */
  private static final long HOST = 0;

  private OutcastDrawing() {}

  static String svg(JsonNode report) {
    Map<Long, Integer> depths = depths(report.path("links"));
    Map<Long, double[]> places = places(depths);
    int rows = depths.values().stream().max(Integer::compare).orElse(0);
    StringBuilder svg = new StringBuilder();
    svg.append(
        format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">%n"
                + "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n"
                + "<text x=\"%d\" y=\"20\" text-anchor=\"middle\">Segments over each link (Figure 10c)</text>%n",
            WIDTH, TOP + rows * ROW + 40, WIDTH / 2));
    for (JsonNode link : report.path("links")) {
      link(
          svg,
          places.get(link.path("from").asLong()),
          places.get(link.path("to").asLong()),
          link.path("segments").asLong());
    }
    places.forEach((id, center) -> node(svg, center, id == HOST ? "D" : Long.toString(id)));
    return svg.append("</svg>\n").toString();
  }

  /** Returns the maximum number of links from each switch to the host. */
  private static Map<Long, Integer> depths(JsonNode links) {
    Map<Long, Integer> depths = new TreeMap<>();
    depths.put(HOST, 0);
    for (int round = 0; round < links.size(); round++) {
      for (JsonNode link : links) {
        Integer next = depths.get(link.path("to").asLong());
        if (next != null && next < links.size()) {
          depths.merge(link.path("from").asLong(), next + 1, Math::max);
        }
      }
    }
    return depths;
  }

  private static Map<Long, double[]> places(Map<Long, Integer> depths) {
    Map<Integer, List<Long>> rows = new TreeMap<>();
    depths.forEach((id, depth) -> rows.computeIfAbsent(depth, d -> new ArrayList<>()).add(id));
    Map<Long, double[]> places = new LinkedHashMap<>();
    rows.forEach(
        (depth, ids) -> {
          for (int i = 0; i < ids.size(); i++) {
            double x = WIDTH * (i + 1.0) / (ids.size() + 1);
            places.put(ids.get(i), new double[] {x, TOP + depth * ROW});
          }
        });
    return places;
  }

  private static void link(StringBuilder svg, double[] source, double[] target, long segments) {
    svg.append(
        format(
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#999999\"/>%n",
            source[0], source[1], target[0], target[1]));
    // The label is near the link's source, where links are farther apart.
    svg.append(
        format(
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" stroke=\"white\" stroke-width=\"4\" paint-order=\"stroke\">%,d</text>%n",
            source[0] * 0.6 + target[0] * 0.4, source[1] * 0.6 + target[1] * 0.4 + 4, segments));
  }

  private static void node(StringBuilder svg, double[] center, String name) {
    svg.append(
        format(
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"17\" fill=\"#e8f1fa\" stroke=\"black\"/>%n"
                + "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>%n",
            center[0], center[1], center[0], center[1] + 4, name));
  }

  private static String format(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
