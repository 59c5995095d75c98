package io.tapline.control.cli.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Moment;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline diagnose track}. */
@Command(
    name = "track",
    description = "Starts tracking TCP retransmissions on all hosts, and prints the watch's ID.",
    footer = {"", "tapline watch alerts shows them as they arrive; tapline watch remove ends it."})
final class DiagnoseTrackCommand implements Callable<Integer> {
  private final Console console;

  @Option(
      names = "--limit",
      paramLabel = "N",
      defaultValue = "0",
      description =
          "Alert on more than N retransmissions of a flow within 10 ms. Default: ${DEFAULT-VALUE}.")
  private long limit;

  @Option(
      names = "--reorder",
      paramLabel = "D",
      description = "Segments that arrive at most D after newer ones count as reordered.")
  private String reorder;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON object.")
  private boolean json;

  DiagnoseTrackCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    if (limit < 0) {
      throw new UsageException("--limit must be at least 0, not " + limit);
    }
    ObjectNode request = ApiClient.MAPPER.createObjectNode().put("program", "track");
    request.put("limit", limit);
    if (reorder != null) {
      request.put("reorder_ns", Moment.duration("--reorder", reorder));
    }
    JsonNode response = server.client().post(DiagnoseCommand.PATH, request);
    if (json) {
      console.json(response);
    } else {
      console.line(response.path("watch").asText());
    }
    return 0;
  }
}
