package io.tapline.control.cli.drill;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Requests headers from the hosts' nodes and prints them, or writes the frames to a file. */
public final class HeaderOutput {
  private static final String PATH = "/api/v1/drilldown";

  private final Console console;
  private final boolean json;

  /**
   * Creates an output.
   *
   * @param json true for JSON lines, false for tables
   */
  public HeaderOutput(Console console, boolean json) {
    this.console = console;
    this.json = json;
  }

  /** Prints the rows that a request selects. */
  void printRows(ApiClient client, ObjectNode request) {
    print(client, request, "rows", this::table);
  }

  /**
   * Prints the response to a request.
   *
   * @param member member of the response that contains the rows
   * @param table renders the rows
   */
  void print(
      ApiClient client, ObjectNode request, String member, Function<JsonNode, String> table) {
    JsonNode response = client.post(PATH, request);
    JsonNode rows = response.path(member);
    if (json) {
      rows.forEach(row -> console.json(row));
    } else if (rows.isEmpty()) {
      console.line("no header matches");
    } else {
      console.print(table.apply(rows));
    }
    if (response.path("truncated").asBoolean()) {
      console.hint(
          "there are more rows than these "
              + rows.size()
              + " rows: raise --limit or narrow the filter");
    }
    response
        .path("missing")
        .properties()
        .forEach(
            node ->
                console.hint("node " + node.getKey() + " is missing: " + node.getValue().asText()));
    hintLeftOut(response.path("left_out"));
  }

  private void hintLeftOut(JsonNode nodes) {
    if (nodes.size() > 0) {
      console.hint(
          nodes.size()
              + (nodes.size() == 1 ? " node was" : " nodes were")
              + " not queried, because they see only packets of other hosts: "
              + String.join(", ", nodes.properties().stream().map(Map.Entry::getKey).toList()));
    }
  }

  /**
   * Writes the frames that a request selects to a pcapng file. The file appears only when it is
   * complete, since a partial one is not a valid capture.
   *
   * @throws CommandException if the response can't be read, or the file can't be written
   */
  public void write(ApiClient client, ObjectNode request, Path file) throws IOException {
    Path part = file.resolveSibling(file.getFileName() + ".part");
    try (InputStream frames = client.download(PATH, request, "application/x-pcapng")) {
      Files.copy(frames, part, StandardCopyOption.REPLACE_EXISTING);
      Files.move(part, file, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      Files.deleteIfExists(part);
      throw new CommandException("can't write " + file + ": " + e.getMessage(), e);
    }
    console.hint("wrote " + Files.size(file) + " bytes to " + file);
  }

  private String table(JsonNode rows) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("time (UTC)", Kind.NAME),
                new Column("node", Kind.NAME),
                new Column("source", Kind.NAME),
                new Column("destination", Kind.NAME),
                new Column("protocol", Kind.NAME),
                new Column("bytes", Kind.NUMBER),
                new Column("flags", Kind.NAME),
                new Column("seq", Kind.NUMBER),
                new Column("ack", Kind.NUMBER)),
            console.columns());
    for (JsonNode row : rows) {
      table.add(
          List.of(
              Instant.EPOCH.plusNanos(row.path("time_ns").asLong()).toString().replace("Z", ""),
              row.path("node").asText(),
              endpoint(row, "src"),
              endpoint(row, "dst"),
              protocol(row.path("protocol").asInt()),
              row.path("bytes").asText(),
              flags(row.path("tcp_flags")),
              row.path("seq").asText(""),
              row.path("ack").asText("")));
    }
    return table.render("");
  }

  private static String endpoint(JsonNode row, String side) {
    String port = row.path(side + "_port").asText();
    JsonNode v6 = row.path(side + "_ip6");
    return v6.isMissingNode()
        ? row.path(side + "_ip").asText() + ":" + port
        : "[" + v6.asText() + "]:" + port;
  }

  private static String protocol(int number) {
    return switch (number) {
      case 1 -> "icmp";
      case 6 -> "tcp";
      case 17 -> "udp";
      case 58 -> "icmpv6";
      default -> Integer.toString(number);
    };
  }

  /** Formats flags like tcpdump. */
  private static String flags(JsonNode value) {
    StringBuilder text = new StringBuilder();
    String letters = "FSRP.UEW";
    for (int bit = 0; bit < letters.length(); bit++) {
      if ((value.asInt() >> bit & 1) == 1) {
        text.append(letters.charAt(bit));
      }
    }
    return text.toString();
  }
}
