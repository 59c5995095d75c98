package io.tapline.control.cli.results;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.tapline.control.cli.console.Numbers;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import io.tapline.control.query.WindowResult;
import java.math.BigDecimal;
import java.math.MathContext;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * Formats windows as tables for people: numbers in a suitable unit, the window's time span in UTC,
 * and the completeness of the rows.
 */
public final class ResultTables {
  private static final String INDENT = "  ";

  /** The detail that is a number of values, and therefore has no unit. */
  private static final String COUNT = "count";

  private static final List<String> ALERT = List.of("alert", "severity", "since");
  private static final List<String> SPREAD = List.of("p50", "p95", "p99", "min", "max");
  private static final List<String> EXTRA_FIELDS = List.of("unanswered", "half_seen", "absent");
  private static final DateTimeFormatter DAY = format("uuuu-MM-dd");
  private static final DateTimeFormatter SECONDS = format("HH:mm:ss");
  private static final DateTimeFormatter TIME = format("HH:mm:ss.SSS");

  private final JsonNode processors;
  private final HostNames names;
  private final int width;

  /**
   * Creates the tables of one query.
   *
   * @param plan the query's plan as JSON
   * @param width maximum width of a table; 0 for no limit
   */
  public ResultTables(JsonNode plan, HostNames names, int width) {
    this.width = width;
    this.processors = plan.path("processors");
    this.names = names;
  }

  private static DateTimeFormatter format(String pattern) {
    return DateTimeFormatter.ofPattern(pattern, Locale.ROOT).withZone(ZoneOffset.UTC);
  }

  /** Returns the title, table and completeness; every line ends with a line feed. */
  String render(WindowResult window) {
    return title(window)
        + "\n"
        + table(window).render(INDENT)
        + INDENT
        + Completeness.line(window.completeness())
        + "\n";
  }

  private String title(WindowResult window) {
    String keys = String.join(", ", keys(window));
    return "%s%s · %s%s"
        .formatted(
            window.name(),
            keys.isEmpty() ? "" : " by " + keys,
            span(window.windowStartNs(), window.windowEndNs()),
            partial(window));
  }

  /** Formats a time in UTC to the second. */
  public static String dayAndTime(long ns) {
    return DAY.format(instant(ns)) + " " + SECONDS.format(instant(ns));
  }

  /** Formats a time in UTC to the millisecond. */
  public static String dayAndMillis(long ns) {
    return DAY.format(instant(ns)) + " " + TIME.format(instant(ns));
  }

  static String span(long startNs, long endNs) {
    String begin = DAY.format(instant(startNs)) + " " + time(startNs);
    return begin + " – " + time(endNs) + " UTC";
  }

  private static String time(long ns) {
    String text = TIME.format(instant(ns));
    return text.endsWith(".000") ? text.substring(0, text.length() - 4) : text;
  }

  private static Instant instant(long ns) {
    return Instant.ofEpochSecond(ns / 1_000_000_000L, ns % 1_000_000_000L);
  }

  private String partial(WindowResult window) {
    boolean partial = window.rows().path(0).path("partial").asBoolean(false);
    if (!partial) {
      return "";
    }
    return isWholeQuery(window) ? " (so far)" : " (partial: not captured from beginning to end)";
  }

  /** Returns true if all processors are triggers, whose only rows are alerts. */
  boolean areOfTriggers() {
    for (JsonNode processor : processors) {
      if (!processor.has("trigger")) {
        return false;
      }
    }
    return !processors.isEmpty();
  }

  /** Returns true if the window spans the whole query and is written as snapshots. */
  boolean isWholeQuery(WindowResult window) {
    JsonNode processor = processor(window);
    return !processor.isMissingNode() && !processor.path("window").has("size");
  }

  private JsonNode processor(WindowResult window) {
    return processors.isArray() && processors.has(window.processor())
        ? processors.get(window.processor())
        : MissingNode.getInstance();
  }

  private static List<String> keys(WindowResult window) {
    List<String> keys = new ArrayList<>();
    window.rows().path(0).path("key").fieldNames().forEachRemaining(keys::add);
    return keys;
  }

  private TextTable table(WindowResult window) {
    JsonNode first = window.rows().path(0);
    boolean spread = first.has("distribution");
    Columns shownColumns =
        new Columns(
            first.has("rank"),
            keys(window),
            spread,
            details(window),
            first.has("alert"),
            bounded(window),
            quantity(window),
            valueName(window),
            extras(window));
    TextTable table = shownColumns.table(width);
    for (JsonNode row : window.rows()) {
      table.add(shownColumns.row(row, names));
    }
    return table;
  }

  /** Returns the names of the numbers that an aggregate shows in addition to its value. */
  private static List<String> details(WindowResult window) {
    return rows(window)
        .flatMap(row -> row.path("details").propertyStream())
        .filter(detail -> !detail.getValue().isContainerNode())
        .map(Map.Entry::getKey)
        .distinct()
        .toList();
  }

  /** Returns the names of the extra counts that are above 0 in any row; most tables have none. */
  private static List<String> extras(WindowResult window) {
    return EXTRA_FIELDS.stream()
        .filter(name -> rows(window).anyMatch(row -> row.path(name).asDouble() > 0))
        .toList();
  }

  private static Stream<JsonNode> rows(WindowResult window) {
    return StreamSupport.stream(window.rows().spliterator(), false);
  }

  private Quantity quantity(WindowResult window) {
    double largest = 0;
    for (JsonNode row : window.rows()) {
      largest = Math.max(largest, Math.abs(row.path("value").asDouble()));
    }
    return Quantity.of(processor(window).path("value").path("unit").asText(""), largest);
  }

  /** Returns true if any value is an estimate. */
  private static boolean bounded(WindowResult window) {
    for (JsonNode row : window.rows()) {
      if (row.path("low").asDouble() != row.path("high").asDouble()) {
        return true;
      }
    }
    return false;
  }

  private String valueName(WindowResult window) {
    JsonNode processor = processor(window);
    String aggregate = processor.path("aggregate").asText("COUNT").toLowerCase(Locale.ROOT);
    String field = processor.path("value").path("field").asText("");
    if (aggregate.equals("distribution")) {
      return "mean";
    }
    if (aggregate.equals("histogram")) {
      return "values";
    }
    if (aggregate.equals("percentile")) {
      double percent = 100 * processor.path("share").asDouble();
      return ("p"
              + BigDecimal.valueOf(percent)
                  .round(new MathContext(4))
                  .stripTrailingZeros()
                  .toPlainString()
              + " "
              + field)
          .strip();
    }
    String condition = processor.path("value").path("condition_text").asText("");
    if (!condition.isEmpty()) {
      return (aggregate.equals("avg") ? "share " : "count ") + condition;
    }
    return aggregate.equals("count") ? "count" : (aggregate + " " + field).strip();
  }

  /** The columns of a table and their formats. */
  private record Columns(
      boolean ranked,
      List<String> keys,
      boolean spread,
      List<String> details,
      boolean alerts,
      boolean bounded,
      Quantity quantity,
      String value,
      List<String> extras) {
    TextTable table(int width) {
      List<Column> columns = new ArrayList<>();
      if (ranked) {
        columns.add(new Column("rank", Kind.NUMBER));
      }
      if (alerts) {
        ALERT.forEach(name -> columns.add(new Column(name, Kind.NAME)));
      }
      keys.forEach(key -> columns.add(new Column(key, Kind.TEXT)));
      if (spread) {
        columns.add(new Column("count", Kind.NUMBER));
      }
      columns.add(new Column(quantity.header(value), Kind.NUMBER));
      if (bounded) {
        columns.add(new Column("low", Kind.NUMBER));
        columns.add(new Column("high", Kind.NUMBER));
      }
      if (spread) {
        SPREAD.forEach(name -> columns.add(new Column(quantity.header(name), Kind.NUMBER)));
      }
      details.forEach(name -> columns.add(new Column(detailHeader(name), Kind.NUMBER)));
      extras.forEach(name -> columns.add(new Column(name.replace('_', ' '), Kind.NUMBER)));
      return new TextTable(columns, width);
    }

    private String detailHeader(String name) {
      return name.equals(COUNT) ? name : quantity.header(name);
    }

    private String detail(String name, JsonNode value) {
      return name.equals(COUNT) ? Numbers.plain(value) : quantity.text(value);
    }

    List<String> row(JsonNode row, HostNames names) {
      List<String> cells = new ArrayList<>();
      if (ranked) {
        cells.add(row.path("rank").asText());
      }
      if (alerts) {
        JsonNode alert = row.path("alert");
        cells.add(alert.path("state").asText());
        cells.add(alert.path("severity").asText());
        cells.add(dayAndTime(alert.path("since_ns").asLong()));
      }
      for (Map.Entry<String, JsonNode> field : row.path("key").properties()) {
        String text = Numbers.text(field.getValue());
        cells.add(field.getKey().endsWith("_ip") ? names.of(text) : text);
      }
      if (spread) {
        cells.add(Numbers.plain(row.path("distribution").path("count")));
      }
      cells.add(quantity.text(row.path("value")));
      if (bounded) {
        cells.add(quantity.text(row.path("low")));
        cells.add(quantity.text(row.path("high")));
      }
      if (spread) {
        SPREAD.forEach(name -> cells.add(quantity.text(row.path("distribution").path(name))));
      }
      details.forEach(name -> cells.add(detail(name, row.path("details").path(name))));
      extras.forEach(name -> cells.add(Numbers.plain(row.path(name))));
      return cells;
    }
  }
}
