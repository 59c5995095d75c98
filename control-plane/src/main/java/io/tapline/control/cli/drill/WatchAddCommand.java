package io.tapline.control.cli.drill;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Moment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

/** {@code tapline watch add}. */
@Command(
    name = "add",
    description = "Adds a watch, or all watches in a file, and prints the IDs.",
    footer = {
      "",
      "Example: a host that opens more than 100 connections within a second",
      "  tapline watch add \"tcp_flags == 2\" --group-by src_ip --when \"COUNT > 100\"",
      "In a monitor: connections with over a tenth of their packets retransmitted",
      "  tapline watch add --group-by flow --every 100ms --when \"share(retransmitted) > 0.1\"",
      "A file contains a list of watches. Keys: filter, and option names with '_' for '-':",
      "  - {filter: tcp_flags == 2, group_by: [src_ip], when: COUNT > 100, every: 10ms}"
    })
final class WatchAddCommand implements Callable<Integer> {
  private static final List<String> ONE_WATCH =
      List.of(
          "--aggregate",
          "--group-by",
          "--when",
          "--window",
          "--every",
          "--after",
          "--clear",
          "--cooldown",
          "--severity",
          "--hosts",
          "--together",
          "--run");

  private final Console console;

  @Parameters(
      paramLabel = "FILTER",
      defaultValue = "",
      description = "Headers to select, in the language of MultiLog. Default: all.")
  private String filter = "";

  @Option(
      names = "--aggregate",
      paramLabel = "F",
      defaultValue = "COUNT",
      description = "COUNT, SUM(bytes), MAX(window)… Default: ${DEFAULT-VALUE}.")
  private String aggregate;

  @Option(
      names = "--group-by",
      paramLabel = "FIELD",
      split = ",",
      description = "Group by these fields, at most four.")
  private List<String> groupBy = new ArrayList<>();

  @Option(
      names = "--when",
      paramLabel = "COND",
      defaultValue = "",
      description = "Condition of alerts, for example \"SUM > 10MB\". Default: no alerts.")
  private String when;

  @Option(
      names = "--window",
      paramLabel = "D",
      description = "Event time that the condition covers. Default: 1s; in a monitor, --every.")
  private String window;

  @Option(
      names = "--every",
      paramLabel = "D",
      description = "How often the condition is tested. Default: 1ms; in a monitor, --window.")
  private String every;

  @Option(
      names = "--after",
      paramLabel = "N",
      description = "In a monitor: consecutive windows that must meet the condition. Default: 1.")
  private Integer after;

  @Option(
      names = "--clear",
      paramLabel = "COND",
      description =
          "In a monitor: threshold or condition that ends an alert, such as 5MB or \"count < 10\".")
  private String clear;

  @Option(
      names = "--cooldown",
      paramLabel = "D",
      description = "In a monitor: least time between the starts of two alerts of a group.")
  private String cooldown;

  @Option(
      names = "--severity",
      paramLabel = "S",
      defaultValue = "warning",
      description = "info, warning or critical. Default: ${DEFAULT-VALUE}.")
  private String severity;

  @Option(
      names = "--hosts",
      paramLabel = "H",
      split = ",",
      description = "Hosts whose MultiLog nodes evaluate the watch. Default: all.")
  private List<String> hosts = new ArrayList<>();

  @Option(
      names = "--together",
      description =
          "Apply the condition to the total of all hosts (COUNT or SUM above a number) instead of each host.")
  private boolean together;

  @Option(
      names = "--run",
      paramLabel = "PLACE",
      defaultValue = "auto",
      description =
          "Where to evaluate: monitor (on each packet), node (on MultiLog nodes), or auto, which chooses by the condition. Default: ${DEFAULT-VALUE}.")
  private String run;

  @Option(
      names = "--file",
      paramLabel = "FILE",
      description = "Add the watches in a YAML file: all, or none if one is rejected.")
  private Path file;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON line per watch.")
  private boolean json;

  @Spec private CommandSpec spec;

  WatchAddCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    if (file == null) {
      print(server.client().post(WatchCommand.PATH, request()));
      return 0;
    }
    requireNoOther();
    ObjectNode request = ApiClient.MAPPER.createObjectNode();
    request.set("watches", WatchFile.read(file));
    server.client().post(WatchCommand.PATH, request).path("watches").forEach(this::print);
    return 0;
  }

  /**
   * With --file, rejects FILTER and the options of a single watch: the file defines its watches
   * completely.
   */
  private void requireNoOther() {
    ParseResult parsed = spec.commandLine().getParseResult();
    boolean hasMore =
        parsed.hasMatchedPositional(0)
            || parsed.matchedOptions().stream()
                .anyMatch(option -> ONE_WATCH.contains(option.longestName()));
    if (hasMore) {
      throw new UsageException(
          "--file can't be combined with FILTER or "
              + String.join(", ", ONE_WATCH)
              + ": they belong in the file");
    }
  }

  private ObjectNode request() {
    ObjectNode request = ApiClient.MAPPER.createObjectNode();
    request.put("filter", filter).put("aggregate", aggregate).put("when", when);
    if (window != null) {
      request.put("window_ns", Moment.duration("--window", window));
    }
    if (every != null) {
      request.put("every_ns", Moment.duration("--every", every));
    }
    if (after != null) {
      request.put("after", after);
    }
    if (clear != null) {
      request.put("clear", clear);
    }
    if (cooldown != null) {
      request.put("cooldown_ns", Moment.duration("--cooldown", cooldown));
    }
    request.put("run", run);
    request.put("severity", severity);
    groupBy.forEach(request.putArray("group_by")::add);
    hosts.forEach(request.putArray("nodes")::add);
    request.put("together", together);
    return request;
  }

  private void print(JsonNode watch) {
    if (json) {
      console.json(watch);
    } else {
      console.line(watch.path("id").asText());
    }
  }
}
