package io.tapline.control.testbed;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.sim.placement.Plot;
import io.tapline.sim.placement.Plot.Point;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/**
 * Draws Figures 9 to 11 of NetAlytics (Middleware'16, Section 7.1) from the results of two queries
 * on the web shop's traffic.
 */
public final class ShopFigures {
  private static final double NS_PER_MS = 1e6;
  private static final double BYTES_PER_MB = 1e6;

  private final UnaryOperator<String> names;

  /**
   * Creates figures.
   *
   * @param names returns a host's name by its address
   */
  public ShopFigures(UnaryOperator<String> names) {
    this.names = names;
  }

  /**
   * Returns the files' contents by file name.
   *
   * @param times rows of {@code diff-group: group=(src_ip, dst_ip)}
   * @param bytes rows of {@code group-sum: group=(src_ip, dst_ip)} over sizes
   */
  public Map<String, String> of(JsonNode times, JsonNode bytes) {
    Map<String, String> files = new LinkedHashMap<>();
    Map<String, Double> means = values(times, NS_PER_MS);
    files.put("figure-9.csv", csv("from,to,mean_ms", means));
    files.put("figure-9.svg", new ShopDrawing(means).svg());
    distribution(times, files);
    Map<String, Double> sizes = values(bytes, BYTES_PER_MB);
    files.put("figure-11.csv", csv("from,to,megabytes", sizes));
    files.put("figure-11.svg", throughput(sizes));
    return files;
  }

  private String tier(JsonNode row) {
    JsonNode key = row.path("key");
    return names.apply(key.path("src_ip").asText())
        + ","
        + names.apply(key.path("dst_ip").asText());
  }

  private Map<String, Double> values(JsonNode rows, double unit) {
    Map<String, Double> values = new TreeMap<>();
    for (JsonNode row : rows) {
      if (row.path("value").isNumber()) {
        values.put(tier(row), row.path("value").asDouble() / unit);
      }
    }
    return values;
  }

  private static String csv(String header, Map<String, Double> values) {
    StringBuilder csv = new StringBuilder(header + "\n");
    values.forEach((tier, value) -> csv.append(format("%s,%.6f\n", tier, value)));
    return csv.toString();
  }

  /**
   * Plots the distribution of the client's connection times. A healthy shop would have one peak;
   * this one has two.
   */
  private void distribution(JsonNode times, Map<String, String> files) {
    StringBuilder csv = new StringBuilder("at_most_ms,connections\n");
    List<Point> points = new ArrayList<>();
    for (JsonNode row : times) {
      if (!tier(row).startsWith("client,")) {
        continue;
      }
      for (JsonNode bar : row.path("distribution").path("histogram")) {
        double upperMs = bar.path("le").asDouble() / NS_PER_MS;
        csv.append(format("%.6f,%d\n", upperMs, bar.path("count").asLong()));
        points.add(new Point(Math.log10(upperMs * 1000), bar.path("count").asDouble(), 0));
      }
    }
    files.put("figure-10.csv", csv.toString());
    files.put(
        "figure-10.svg",
        new Plot("Response times at the client (Figure 10)", "10^x microseconds", "connections")
            .line("client to proxy", points, false)
            .svg());
  }

  /**
   * Plots the bytes that each application server exchanges with the database and with the cache.
   */
  private static String throughput(Map<String, Double> sizes) {
    Plot plot = new Plot("Bytes exchanged (Figure 11)", "app1, app2", "MB");
    for (String target : List.of("db", "cache")) {
      List<Point> points = new ArrayList<>();
      for (int server = 1; server <= 2; server++) {
        points.add(new Point(server, sizes.getOrDefault("app" + server + "," + target, 0.0), 0));
      }
      plot.line(target, points, false);
    }
    return plot.svg();
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }
}
