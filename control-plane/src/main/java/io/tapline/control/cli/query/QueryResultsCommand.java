package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.results.HostNames;
import io.tapline.control.cli.results.ResultTables;
import io.tapline.control.cli.results.WindowPrinter;
import io.tapline.control.query.WindowResult;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline query results}. */
@Command(
    name = "results",
    description = "Prints a query's results so far; all of them if it has ended.")
final class QueryResultsCommand implements Callable<Integer> {
  private final Console console;

  @Parameters(paramLabel = "ID", description = "The query's ID.")
  private String id;

  @Mixin private ServerOption server;

  @Mixin private HostNamesOption hosts;

  @Option(names = "--json", description = "Print result rows as JSON lines.")
  private boolean json;

  QueryResultsCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    HostNames names = hosts.names();
    ApiClient client = server.client();
    JsonNode query = client.get(ApiClient.query(id, ""));
    JsonNode plan = query.path("plan");
    WindowPrinter printer =
        new WindowPrinter(console, new ResultTables(plan, names, console.columns()), json);
    for (int processor = 0; processor < plan.path("processors").size(); processor++) {
      Windows windows = new Windows(processor, printer);
      pages(client, processor, windows::add);
      windows.end();
    }
    if (query.path("state").asText().equals("failed")) {
      printer.end("the query failed: " + query.path("error").asText());
    } else {
      printer.end();
    }
    return 0;
  }

  /** Reads all rows of a processor page by page. */
  private void pages(ApiClient client, int processor, Consumer<JsonNode> consumer) {
    String cursor = "";
    boolean hasMore = true;
    while (hasMore) {
      String parameter = cursor.isEmpty() ? "" : "&after=" + cursor;
      JsonNode page =
          client.get(ApiClient.query(id, "/results?processor=" + processor + parameter));
      page.path("rows").forEach(consumer);
      cursor = page.path("last_entry").asText();
      hasMore = page.path("more").asBoolean();
    }
  }

  /** Groups consecutive rows with the same bounds into windows, and prints these. */
  private static final class Windows {
    private final int processor;
    private final WindowPrinter printer;
    private ArrayNode rows = ApiClient.MAPPER.createArrayNode();

    Windows(int processor, WindowPrinter printer) {
      this.processor = processor;
      this.printer = printer;
    }

    void add(JsonNode row) {
      if (!rows.isEmpty() && !sameWindow(rows.get(0), row)) {
        end();
      }
      rows.add(row);
    }

    private static boolean sameWindow(JsonNode a, JsonNode b) {
      return a.path("window_end_ns").equals(b.path("window_end_ns"))
          && a.path("window_start_ns").equals(b.path("window_start_ns"));
    }

    void end() {
      if (rows.isEmpty()) {
        return;
      }
      JsonNode first = rows.get(0);
      printer.print(
          new WindowResult(
              "",
              processor,
              first.path("processor").asText(),
              first.path("window_start_ns").asLong(),
              first.path("window_end_ns").asLong(),
              rows,
              first.path("completeness")));
      rows = ApiClient.MAPPER.createArrayNode();
    }
  }
}
