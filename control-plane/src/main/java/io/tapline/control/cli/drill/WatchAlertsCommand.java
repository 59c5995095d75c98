package io.tapline.control.cli.drill;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline watch alerts}. */
@Command(name = "alerts", description = "Prints the latest alerts of watches, the oldest first.")
final class WatchAlertsCommand implements Callable<Integer> {
  private static final long POLL_MS = 200;

  private final Console console;

  @Option(names = "--follow", description = "Continue to print alerts as they arrive.")
  private boolean follow;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON line per alert.")
  private boolean json;

  WatchAlertsCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws InterruptedException {
    ApiClient client = server.client();
    long last = 0;
    do {
      for (JsonNode alert : client.get("/api/v1/alerts?after=" + last).path("alerts")) {
        last = alert.path("number").asLong();
        if (json) {
          console.json(alert);
        } else {
          console.line(line(alert));
        }
      }
      console.flush();
      if (follow) {
        Thread.sleep(POLL_MS);
      }
    } while (follow);
    if (last == 0 && !json) {
      console.line("no alerts");
    }
    return 0;
  }

  private static String line(JsonNode alert) {
    List<String> key = new ArrayList<>();
    alert
        .path("key")
        .properties()
        .forEach(field -> key.add(field.getKey() + "=" + field.getValue().asText()));
    return "%s  %-8s  %s on %s  %svalue %s%s"
        .formatted(
            time(alert.path("window_start_ns").asLong()),
            alert.path("severity").asText(),
            alert.path("watch").asText(),
            alert.path("node").asText(),
            key.isEmpty() ? "" : String.join(" ", key) + "  ",
            alert.path("value").asText(),
            alert.path("late").asBoolean() ? "  (late)" : "");
  }

  private static String time(long ns) {
    return Instant.EPOCH.plusNanos(ns).toString();
  }
}
