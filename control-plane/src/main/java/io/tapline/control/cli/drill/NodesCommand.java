package io.tapline.control.cli.drill;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
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
    description = "Lists agents and MultiLog nodes on hosts, with their health and losses.")
public final class NodesCommand implements Callable<Integer> {
  private final Console console;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON line per agent and per node.")
  private boolean json;

  NodesCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    JsonNode knownNode = server.client().get("/api/v1/nodes");
    JsonNode nodes = knownNode.path("nodes");
    JsonNode agents = knownNode.path("agents");
    if (json) {
      agents.forEach(agent -> console.json(agent));
      nodes.forEach(node -> console.json(node));
    } else if (nodes.isEmpty() && agents.isEmpty()) {
      console.line(
          "no hosts; the server takes agents with --agents HOST:PORT,"
              + " MultiLog nodes with --multilog NAME=HOST:PORT");
    } else {
      print(agents, nodes);
    }
    return 0;
  }

  private void print(JsonNode agents, JsonNode nodes) {
    if (!agents.isEmpty()) {
      console.print(agentTable(agents, console.columns()).render(""));
    }
    if (!nodes.isEmpty()) {
      console.print(table(nodes, console.columns()).render(""));
    }
  }

  private static TextTable agentTable(JsonNode agents, int columns) {
    TextTable table =
        new TextTable(
            List.of(
                new Column("agent", Kind.NAME),
                new Column("state", Kind.NAME),
                new Column("interface", Kind.NAME),
                new Column("load", Kind.NUMBER),
                new Column("clock", Kind.NUMBER),
                new Column("queries", Kind.TEXT)),
            columns);
    for (JsonNode agent : agents) {
      List<String> queries = new ArrayList<>();
      agent.path("queries").forEach(query -> queries.add(query.asText()));
      table.add(
          List.of(
              agent.path("agent").asText(),
              agent.path("state").asText(),
              agent.path("interface").asText(),
              String.format(Locale.ROOT, "%.2f", agent.path("load").asDouble()),
              clock(agent),
              String.join(", ", queries)));
    }
    return table;
  }

  /** Returns the host's clock offset (positive: ahead) and its error bound; empty if unknown. */
  private static String clock(JsonNode agent) {
    return agent.has("clock_offset_ns")
        ? String.format(
            Locale.ROOT,
            "%+.3f ±%.3f ms",
            agent.path("clock_offset_ns").asDouble() / 1e6,
            agent.path("clock_error_ns").asDouble() / 1e6)
        : "";
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
      boolean isUp = node.path("state").asText().equals("up");
      table.add(
          List.of(
              node.path("node").asText(),
              node.path("address").asText(),
              node.path("state").asText(),
              isUp ? number(node.path("packets").asLong()) : "",
              isUp ? number(node.path("rows").asLong()) : "",
              isUp ? number(node.path("memory_bytes").asLong() >> 20) : "",
              isUp ? dropped(node.path("dropped")) : node.path("error").asText()));
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
