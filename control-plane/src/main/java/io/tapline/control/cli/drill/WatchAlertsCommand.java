package io.tapline.control.cli.drill;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline watch alerts}. */
@Command(name = "alerts", description = "Prints the latest alerts of watches, the oldest first.")
final class WatchAlertsCommand implements Callable<Integer> {
  private static final long POLL_MS = 200;
  private static final long RECONNECT_MS = 500;

  /** Maximum number of printed alerts that are remembered; a server keeps fewer. */
  private static final int MAX_PRINTED = 100_000;

  private final Console console;
  private final Set<String> printed =
      Collections.newSetFromMap(
          new LinkedHashMap<>() {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
              return size() > MAX_PRINTED;
            }
          });

  private long last;
  private boolean reachable = true;

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
    print(client.get(path()));
    while (follow) {
      Thread.sleep(POLL_MS);
      poll(client);
    }
    if (last == 0 && !json) {
      console.line("no alerts");
    }
    return 0;
  }

  private String path() {
    return "/api/v1/alerts?after=" + last;
  }

  /**
   * Prints new alerts. Retries while the server is unreachable: after a restart or a takeover, it
   * has the same watches.
   */
  private void poll(ApiClient client) throws InterruptedException {
    try {
      print(client.get(path()));
      reachable = true;
    } catch (ApiClient.Unreachable e) {
      if (reachable) {
        console.hint(e.getMessage() + "; trying again");
      }
      reachable = false;
      Thread.sleep(RECONNECT_MS);
    }
  }

  private void print(JsonNode response) {
    for (JsonNode alert : response.path("alerts")) {
      last = alert.path("number").asLong();
      // After a restart, the server again receives the alerts that nodes still have, and renumbers
      // them.
      if (!printed.add(alert.path("id").asText())) {
        continue;
      }
      if (json) {
        console.json(alert);
      } else {
        console.line(line(alert));
      }
    }
    console.flush();
  }

  static String line(JsonNode alert) {
    List<String> key = new ArrayList<>();
    alert
        .path("key")
        .properties()
        .forEach(field -> key.add(field.getKey() + "=" + field.getValue().asText()));
    String exemplar = alert.path("exemplars").path(0).asText();
    return "%s  %-8s  %s on %s  %s%s  %salert %s%s"
        .formatted(
            time(alert.path("window_start_ns").asLong()),
            alert.path("severity").asText(),
            alert.path("watch").asText(),
            alert.path("node").asText(),
            key.isEmpty() ? "" : String.join(" ", key) + "  ",
            value(alert),
            exemplar.isEmpty() ? "" : "e.g. " + exemplar + "  ",
            alert.path("id").asText(),
            (alert.path("certain").asBoolean(true) ? "" : "  (uncertain)")
                + (alert.path("incomplete").asBoolean() ? "  (window incomplete)" : "")
                + (alert.path("late").asBoolean() ? "  (late)" : "")
                + (alert.path("replayed").asBoolean() ? "  (replayed)" : ""));
  }

  /** Returns the value, or its bounds if only they are known. */
  private static String value(JsonNode alert) {
    JsonNode low = alert.path("low");
    JsonNode high = alert.path("high");
    if (!alert.path("value").isMissingNode() || (low.isMissingNode() && high.isMissingNode())) {
      return "value " + alert.path("value").asText();
    }
    if (high.isMissingNode()) {
      return "value at least " + low.asText();
    }
    return low.isMissingNode()
        ? "value at most " + high.asText()
        : "value between " + low.asText() + " and " + high.asText();
  }

  private static String time(long ns) {
    return Instant.EPOCH.plusNanos(ns).toString();
  }
}
