package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.QueryFollower;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.results.EventPrinter;
import io.tapline.control.cli.results.HostNames;
import io.tapline.control.cli.results.ResultTables;
import io.tapline.control.cli.results.WindowPrinter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline query watch}. */
@Command(
    name = "watch",
    description = "Prints a query's windows and events as they arrive, until it ends.")
final class QueryWatchCommand implements Callable<Integer> {
  private final Console console;

  @Parameters(paramLabel = "ID", description = "The query's ID.")
  private String id;

  @Mixin private ServerOption server;

  @Mixin private HostNamesOption hosts;

  @Option(names = "--json", description = "Print result rows and events as JSON lines.")
  private boolean json;

  QueryWatchCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    HostNames names = hosts.names();
    ApiClient client = server.client();
    JsonNode query = client.get(ApiClient.query(id, ""));
    WindowPrinter printer =
        new WindowPrinter(
            console, new ResultTables(query.path("plan"), names, console.columns()), json);
    EventPrinter events = new EventPrinter(console, names, json);
    new QueryFollower(client, id).untilEnd(printer::printNow, events::print);
    events.end();
    printer.end();
    return 0;
  }
}
