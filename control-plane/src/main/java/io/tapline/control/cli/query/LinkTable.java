package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import io.tapline.control.cli.results.ResultTables;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Renders link loads, one line per window; each window is shown only once. */
final class LinkTable {
  private static final String ABSENT = "-";

  /** The end of the latest window added, by link, statistic and query. */
  private final Map<String, Long> shown = new HashMap<>();

  private final List<List<String>> lines = new ArrayList<>();

  /** The load of a link in a window. */
  private static final class Line {
    private final String series;
    private final JsonNode load;
    private double share = Double.NaN;
    private double bitsPerSecond = Double.NaN;

    Line(String series, JsonNode load) {
      this.series = series;
      this.load = load;
    }

    void add(JsonNode figure) {
      if (figure.path("value").isNumber()) {
        double value = figure.path("value").asDouble();
        switch (figure.path("field").asText()) {
          case "share" -> share = value;
          case "bits_per_second" -> bitsPerSecond = value;
          default -> {
            // The table omits the bounds; JSON output contains them.
          }
        }
      }
    }
  }

  /**
   * Adds a line for each window of a link that has not been added yet.
   *
   * @param link element of the response to {@code GET /api/v1/links}
   * @return true if there are any
   */
  boolean add(JsonNode link) {
    Map<String, Line> windows = new TreeMap<>();
    for (JsonNode load : link.path("loads")) {
      String series = load.path("statistic").asText() + " " + load.path("query").asText();
      String window = series + " " + windowEnd(load);
      windows.computeIfAbsent(window, ignored -> new Line(series, load)).add(load);
    }
    boolean hasAny = false;
    for (Line line : windows.values()) {
      long end = windowEnd(line.load);
      String series = place(link) + " " + line.series;
      if (shown.getOrDefault(series, Long.MIN_VALUE) < end) {
        shown.put(series, end);
        lines.add(cells(link, line));
        hasAny = true;
      }
    }
    return hasAny;
  }

  private static long windowEnd(JsonNode load) {
    return load.path("window_end_ns").asLong();
  }

  private static String place(JsonNode link) {
    return "%s:%s:%s"
        .formatted(
            link.path("switch").asText(), link.path("port").asText(), link.path("side").asText());
  }

  private static List<String> cells(JsonNode link, Line line) {
    String port = link.path("port").asText(ABSENT);
    String side = link.path("side").asText("");
    return List.of(
        link.path("switch").asText(),
        side.isEmpty() ? port : port + " " + side,
        link.path("neighbour").asText(ABSENT),
        line.load.path("statistic").asText(),
        figure(100 * line.share),
        figure(line.bitsPerSecond / 1e6),
        ResultTables.dayAndTime(windowEnd(line.load))
            + (line.load.path("partial").asBoolean() ? " (partial)" : ""),
        line.load.path("query").asText()
            + (line.load.path("state").asText().equals("running") ? "" : " (ended)"));
  }

  private static String figure(double value) {
    return Double.isNaN(value) ? ABSENT : String.format(Locale.ROOT, "%,.1f", value);
  }

  /** Returns a table of the lines added since the last call. */
  String take(int columns) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("switch", Kind.NAME),
                new Column("port", Kind.NAME),
                new Column("neighbour", Kind.NAME),
                new Column("value", Kind.NAME),
                new Column("share %", Kind.NUMBER),
                new Column("Mb/s", Kind.NUMBER),
                new Column("window end (UTC)", Kind.NAME),
                new Column("query", Kind.NAME)),
            columns);
    lines.forEach(table::add);
    lines.clear();
    return table.render("");
  }
}
