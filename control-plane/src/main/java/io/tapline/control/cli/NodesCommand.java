package io.tapline.control.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.TextTable.Column;
import io.tapline.control.cli.TextTable.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline nodes}. */
@Command(
    name = "nodes",
    description = "Lists the hosts' MultiLog nodes that the server knows: health, rows, losses.")
final class NodesCommand implements Callable<Integer> {
  private final Console console;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON line per node.")
  private boolean json;

  NodesCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    JsonNode nodes = server.client().get("/api/v1/nodes").path("nodes");
    if (json) {
      nodes.forEach(node -> console.line(node.toString()));
    } else if (nodes.isEmpty()) {
      console.line("no nodes; the server takes them with --multilog NAME=HOST:PORT");
    } else {
      console.print(table(nodes, console.columns()).render(""));
    }
    return 0;
  }

  private static TextTable table(JsonNode nodes, int columns) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("node", Kind.NAME),
                new Column("address", Kind.NAME),
                new Column("state", Kind.NAME),
                new Column("packets", Kind.NUMBER),
                new Column("rows", Kind.NUMBER),
                new Column("MiB", Kind.NUMBER),
                new Column("dropped", Kind.TEXT)),
            columns);
    for (JsonNode node : nodes) {
      boolean up = node.path("state").asText().equals("up");
      table.add(
          List.of(
              node.path("node").asText(),
              node.path("address").asText(),
              node.path("state").asText(),
              up ? number(node.path("packets").asLong()) : "",
              up ? number(node.path("rows").asLong()) : "",
              up ? number(node.path("memory_bytes").asLong() >> 20) : "",
              up ? dropped(node.path("dropped")) : node.path("error").asText()));
    }
    return table;
  }

  private static String dropped(JsonNode dropped) {
    List<String> reasons = new ArrayList<>();
    dropped
        .properties()
        .forEach(
            reason ->
                reasons.add(
                    number(reason.getValue().asLong()) + " " + reason.getKey().replace('_', ' ')));
    return reasons.isEmpty() ? "nothing" : String.join(", ", reasons);
  }

  private static String number(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }
}
