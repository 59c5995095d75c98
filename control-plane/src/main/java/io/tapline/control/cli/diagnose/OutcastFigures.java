package io.tapline.control.cli.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.sim.placement.Plot;
import io.tapline.sim.placement.Plot.Point;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Draws Figure 10 of Confluo (NSDI'19) from a report; returns the files' contents by name. */
final class OutcastFigures {
  private static final double NS_PER_S = 1e9;
  private static final double BITS_PER_MBIT = 1e6;

  private OutcastFigures() {}

  static Map<String, String> of(JsonNode report) {
    Map<String, String> files = new LinkedHashMap<>();
    ratio(report, files);
    throughputs(report, files);
    files.put("figure10c.csv", links(report));
    files.put("figure10c.svg", OutcastDrawing.svg(report));
    return files;
  }

  private static void ratio(JsonNode report, Map<String, String> files) {
    StringBuilder csv =
        new StringBuilder("seconds,shortest_to_greatest_group,least_to_most_flow\n");
    List<Point> groups = new ArrayList<>();
    List<Point> flows = new ArrayList<>();
    for (JsonNode step : report.path("steps")) {
      double seconds = (step.path("end_ns").asLong() - report.path("from_ns").asLong()) / NS_PER_S;
      double ratio = step.path("ratio").asDouble();
      double single = step.path("least_to_most").asDouble();
      csv.append(String.format(Locale.ROOT, "%.3f,%.4f,%.4f%n", seconds, ratio, single));
      groups.add(new Point(seconds, ratio, 0));
      flows.add(new Point(seconds, single, 0));
    }
    files.put("figure10a.csv", csv.toString());
    files.put(
        "figure10a.svg",
        new Plot("Cumulative ratio of segments (Figure 10a)", "seconds", "ratio")
            .line("shortest path : best group", groups, false)
            .line("min : max, single flows", flows, true)
            .svg());
  }

  private static void throughputs(JsonNode report, Map<String, String> files) {
    StringBuilder csv =
        new StringBuilder("flow,switches,segments,retransmissions,mbit_per_second\n");
    TreeMap<Integer, List<Point>> byHops = new TreeMap<>();
    List<JsonNode> flows = new ArrayList<>();
    report.path("flows").forEach(flows::add);
    flows.sort((a, b) -> Integer.compare(a.path("hops").asInt(), b.path("hops").asInt()));
    for (JsonNode flow : flows) {
      double rate = flow.path("bits_per_second").asDouble() / BITS_PER_MBIT;
      int number = 1 + byHops.values().stream().mapToInt(List::size).sum();
      csv.append(
          String.format(
              Locale.ROOT,
              "%s,%d,%d,%d,%.2f%n",
              flow.path("flow").asText(),
              flow.path("hops").asInt(),
              flow.path("segments").asLong(),
              flow.path("retransmissions").asLong(),
              rate));
      byHops
          .computeIfAbsent(flow.path("hops").asInt(), hops -> new ArrayList<>())
          .add(new Point(number, rate, 0));
    }
    files.put("figure10b.csv", csv.toString());
    Plot plot = new Plot("Throughput of each flow (Figure 10b)", "flow", "Mbit/s");
    byHops.forEach(
        (hops, points) ->
            plot.line("over " + hops + (hops == 1 ? " switch" : " switches"), points, false));
    files.put("figure10b.svg", plot.svg());
  }

  private static String links(JsonNode report) {
    StringBuilder csv = new StringBuilder("from,to,segments\n");
    for (JsonNode link : report.path("links")) {
      csv.append(
          "%d,%d,%d%n"
              .formatted(
                  link.path("from").asLong(),
                  link.path("to").asLong(),
                  link.path("segments").asLong()));
    }
    return csv.toString();
  }
}
