package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.QueryFollower;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.options.QueryText;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline query submit}. */
@Command(name = "submit", description = "Starts a query on the server and prints its ID.")
final class QuerySubmitCommand implements Callable<Integer> {
  private final Console console;

  @Parameters(paramLabel = "QUERY", description = QueryText.HELP)
  private String query;

  @Option(names = "--wait", description = "Wait until the query has ended; fails if it failed.")
  private boolean wait;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print the query as JSON.")
  private boolean json;

  QuerySubmitCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    ApiClient client = server.client();
    JsonNode body = ApiClient.MAPPER.createObjectNode().put("query", QueryText.of(query));
    JsonNode submitted = client.post("/api/v1/queries", body);
    String id = submitted.path("id").asText();
    submitted.path("notes").forEach(note -> console.hint("note: " + note.asText()));
    if (!json) {
      console.line(id);
      console.flush();
    }
    JsonNode shownNode = submitted;
    if (wait) {
      new QueryFollower(client, id).untilEnd(window -> {});
      shownNode = client.get(ApiClient.query(id, ""));
    }
    if (json) {
      console.json(shownNode);
    }
    return 0;
  }
}
