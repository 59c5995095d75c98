package io.tapline.control.cli.results;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.Numbers;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Reader;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Prints tuples as tables, one per parser. A table is printed when it has {@value #ROWS} rows,
 * which bounds memory and gives a reader results before the end; its columns and their widths are
 * chosen from its rows.
 */
public final class TupleTables {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int ROWS = 1000;
  private static final Set<String> NOTHING = Set.of("", "-");
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS", Locale.ROOT).withZone(ZoneOffset.UTC);

  private final Console console;
  private final Map<String, ParserTable> tables = new LinkedHashMap<>();

  public TupleTables(Console console, List<ParserInfo> parsers) {
    this.console = console;
    parsers.forEach(parser -> tables.put(parser.name(), new ParserTable(parser)));
  }

  /** Prints all tuples in a stream of JSON lines. */
  public void print(Reader tuples) throws IOException {
    try (BufferedReader lines = new BufferedReader(tuples)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        JsonNode tuple = MAPPER.readTree(line);
        tables.get(tuple.path("parser").asText()).add(tuple);
      }
    }
    tables.values().forEach(ParserTable::flush);
    console.flush();
  }

  /** Prints the number of tuples from each parser. REQUIRES: all tuples were printed. */
  public void printTotals() {
    tables.values().forEach(ParserTable::total);
  }

  private final class ParserTable {
    private final ParserInfo parser;
    private final List<FieldInfo> own;
    private List<List<String>> rows = new ArrayList<>();
    private long total;

    ParserTable(ParserInfo parser) {
      this.parser = parser;
      this.own = parser.fields().stream().filter(field -> !field.common()).toList();
    }

    /** Returns a table of the columns in which any row has a value. */
    private TextTable table() {
      List<Column> columns = columns();
      List<Integer> used =
          IntStream.range(0, columns.size())
              .filter(i -> rows.stream().anyMatch(row -> !NOTHING.contains(row.get(i))))
              .boxed()
              .toList();
      TextTable table = new TextTable(pick(columns, used), console.columns());
      rows.forEach(row -> table.add(pick(row, used)));
      return table;
    }

    private List<Column> columns() {
      List<Column> columns = new ArrayList<>();
      columns.add(new Column("time (UTC)", Kind.NAME));
      columns.add(new Column("client", Kind.NAME));
      columns.add(new Column("server", Kind.NAME));
      for (FieldInfo field : own) {
        Kind kind = field.type().isNumeric() ? Kind.NUMBER : Kind.TEXT;
        columns.add(new Column(header(field), kind));
      }
      return columns;
    }

    private static <T> List<T> pick(List<T> all, List<Integer> which) {
      return which.stream().map(all::get).toList();
    }

    private static String header(FieldInfo field) {
      return field.unit().equals("ns")
          ? field.name().replaceFirst("_ns$", "") + " ms"
          : field.name();
    }

    void add(JsonNode tuple) {
      List<String> row = new ArrayList<>();
      row.add(time(tuple.path("time_ns").asLong()));
      row.add(endpoint(tuple, "src"));
      row.add(endpoint(tuple, "dst"));
      own.forEach(field -> row.add(cell(field, tuple.path(field.name()))));
      rows.add(row);
      total++;
      if (rows.size() == ROWS) {
        flush();
      }
    }

    private static String cell(FieldInfo field, JsonNode value) {
      if (field.unit().equals("ns")) {
        return Numbers.milliseconds(value);
      }
      return field.unit().isEmpty() ? Numbers.text(value) : Numbers.plain(value);
    }

    void flush() {
      if (!rows.isEmpty()) {
        console.print(parser.name() + "\n" + table().render("  ") + "\n");
        rows = new ArrayList<>();
      }
    }

    void total() {
      console.line(String.format(Locale.ROOT, "%,d tuples of %s", total, parser.name()));
    }
  }

  private static String time(long ns) {
    return TIME.format(Instant.ofEpochSecond(ns / 1_000_000_000L, ns % 1_000_000_000L));
  }

  private static String endpoint(JsonNode tuple, String side) {
    String address = tuple.path(side + "_ip").asText();
    String host = address.contains(":") ? "[" + address + "]" : address;
    return host + ":" + tuple.path(side + "_port").asText();
  }
}
