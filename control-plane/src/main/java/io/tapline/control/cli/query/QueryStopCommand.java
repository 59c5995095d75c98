package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.QueryFollower;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline query stop}. */
@Command(
    name = "stop",
    description = "Stops a query; its results are kept. Has no effect on a query that has ended.")
final class QueryStopCommand implements Callable<Integer> {
  private final Console console;

  @Parameters(paramLabel = "ID", description = "The query's ID.")
  private String id;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print the query as JSON.")
  private boolean json;

  QueryStopCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    ApiClient client = server.client();
    client.get(ApiClient.query(id, ""));
    client.delete(ApiClient.query(id, ""));
    try {
      new QueryFollower(client, id).untilEnd(window -> {});
    } catch (CommandException failed) {
      // The final state is printed below; the command succeeds regardless of how the query ended.
    }
    JsonNode query = client.get(ApiClient.query(id, ""));
    if (json) {
      console.json(query);
    } else {
      console.line(id + "  " + query.path("state").asText());
    }
    return 0;
  }
}
