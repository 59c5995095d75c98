package io.tapline.control.cli.drill;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.TextTable;
import io.tapline.control.cli.console.TextTable.Column;
import io.tapline.control.cli.console.TextTable.Kind;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Moment;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline drill}: searches the headers that the hosts keep. */
@Command(
    name = "drill",
    description = "Shows packet headers from the hosts' MultiLog nodes, at one point in time.",
    footer = {
      "",
      "Examples:",
      "  tapline drill \"src_ip in 10.1.0.0/16 && dst_port == 80\" --from 5m",
      "  tapline drill \"\" --aggregate \"SUM(bytes)\" --group-by src_ip,dst_ip",
      "  tapline drill --flow a383c50f9de647dd-69fe921a --pcapng flow.pcapng",
      "  tapline drill --alert 1795204789803343000-7 --pcapng alert.pcapng",
      "Expressions: docs/reference/multilog.md; fields: docs/reference/multilog-node.md."
    })
public final class DrillCommand implements Callable<Integer> {
  private static final Pattern FLOW_ID = Pattern.compile("([0-9a-f]{16})(?:-[0-9a-f]{8})?");

  private final Console console;

  @Parameters(
      paramLabel = "FILTER",
      defaultValue = "",
      description = "Headers to select, in the language of MultiLog. Default: all.")
  private String filter = "";

  @Option(
      names = "--flow",
      paramLabel = "ID",
      description =
          "Select both directions of this flow: the flow_id of a tuple or of a row's exemplar.")
  private String flow;

  @Option(
      names = "--alert",
      paramLabel = "ID",
      description =
          "Select the window and group of this alert: the id of an alert of a watch or a query.")
  private String alert;

  @Option(
      names = "--from",
      paramLabel = "T",
      description = "Start of the span, " + Moment.HELP + ".")
  private String from;

  @Option(names = "--to", paramLabel = "T", description = "End of the span.")
  private String to;

  @Option(
      names = "--aggregate",
      paramLabel = "F",
      description =
          "Print an aggregate instead of rows: COUNT, SUM(bytes), AVG(payload_bytes), MIN, MAX…")
  private String aggregate;

  @Option(
      names = "--group-by",
      paramLabel = "FIELD",
      split = ",",
      description = "With --aggregate: group by these fields, at most four.")
  private List<String> groupBy = new ArrayList<>();

  @Option(names = "--limit", paramLabel = "N", description = "Max number of rows. Default: 1000.")
  private Long limit;

  @Option(
      names = "--node",
      paramLabel = "NAME",
      description = "Query only this host's node; repeat for several.")
  private List<String> nodes = new ArrayList<>();

  @Option(
      names = "--pcapng",
      paramLabel = "FILE",
      description = "Write the stored bytes of the frames to a file for Wireshark instead.")
  private Path file;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON line per row or group.")
  private boolean json;

  DrillCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws IOException {
    if (file != null && aggregate != null) {
      throw new UsageException("--pcapng and --aggregate are mutually exclusive");
    }
    if (aggregate == null && !groupBy.isEmpty()) {
      throw new UsageException("--group-by needs --aggregate, for example --aggregate COUNT");
    }
    if (alert != null && (from != null || to != null || !nodes.isEmpty())) {
      throw new UsageException(
          "--alert selects a window and nodes: it can't be combined with --from, --to or --node");
    }
    ObjectNode request = request();
    HeaderOutput output = new HeaderOutput(console, json);
    if (file != null) {
      output.write(server.client(), request, file);
    } else if (aggregate == null) {
      output.printRows(server.client(), request);
    } else {
      output.print(server.client(), request, "groups", this::groups);
    }
    return 0;
  }

  private ObjectNode request() {
    Instant now = Instant.now();
    ObjectNode request = ApiClient.MAPPER.createObjectNode().put("filter", withFlow());
    if (alert != null) {
      request.put("alert", alert);
    }
    if (from != null) {
      request.put("from_ns", Moment.nanoseconds("--from", from, now));
    }
    if (to != null) {
      request.put("to_ns", Moment.nanoseconds("--to", to, now));
    }
    if (limit != null) {
      request.put("limit", limit);
    }
    if (aggregate != null) {
      request.put("aggregate", aggregate);
      groupBy.forEach(request.putArray("group_by")::add);
    }
    if (!nodes.isEmpty()) {
      ArrayNode names = request.putArray("nodes");
      nodes.forEach(names::add);
    }
    return request;
  }

  /**
   * Returns the filter; with --flow, restricted to the flow's hash, the part of its ID before '-'.
   */
  private String withFlow() {
    if (flow == null) {
      return filter;
    }
    Matcher id = FLOW_ID.matcher(flow);
    if (!id.matches()) {
      throw new UsageException(
          "--flow " + flow + " is not a flow ID: give the flow_id of a tuple or an exemplar");
    }
    String ofFlow = "flow == 0x" + id.group(1);
    return filter.isBlank() ? ofFlow : ofFlow + " && (" + filter + ")";
  }

  private String groups(JsonNode rows) {
    List<Column> columns = new ArrayList<>();
    groupBy.forEach(field -> columns.add(new Column(field, Kind.NAME)));
    columns.add(new Column(aggregate, Kind.NUMBER));
    TextTable table = new TextTable(columns, console.columns());
    for (JsonNode row : rows) {
      List<String> cells = new ArrayList<>();
      for (Map.Entry<String, JsonNode> key : row.path("key").properties()) {
        cells.add(key.getValue().asText());
      }
      while (cells.size() < groupBy.size()) {
        cells.add("(others)");
      }
      double value = row.path("value").asDouble();
      cells.add(
          value == Math.rint(value)
              ? String.format(Locale.ROOT, "%,.0f", value)
              : String.format(Locale.ROOT, "%,.3f", value));
      table.add(cells);
    }
    return table.render("");
  }
}
