package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.options.Moment;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline links events}. */
@Command(
    name = "events",
    description =
        "Shows when triggers of link_load found links full, and the flows that used them.",
    footer = {
      "",
      "A query whose events name the flows of links above 0.9 of their speed:",
      "  tapline query submit 'PARSE link_load(link=10000000000, every=1ms, flows_above=0.9)"
          + " FROM * TO * PROCESS (trigger: when=\"max(share) > 0.9\", clear=0.8,"
          + " group=(switch, port), every=1ms, cooldown=3ms)'"
    })
final class LinkEventsCommand implements Callable<Integer> {
  private final Console console;

  @Option(names = "--switch", paramLabel = "NAME", description = "Only links of this switch.")
  private String switchName;

  @Option(names = "--port", paramLabel = "NAME", description = "Only links at this port.")
  private String port;

  @Option(
      names = "--last",
      paramLabel = "D",
      description = "Only events of the last D. Default: all that are kept.")
  private String last;

  @Option(
      names = "--limit",
      paramLabel = "N",
      description = "Max number of events; older ones are omitted. Default: 100.")
  private Integer limit;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON line per event.")
  private boolean json;

  LinkEventsCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    ApiClient client = server.client();
    JsonNode response = client.get(path(Instant.now()));
    for (JsonNode event : response.path("events")) {
      if (json) {
        console.json(event);
      } else {
        LinkEventText.lines(event).forEach(console::line);
      }
    }
    if (response.path("events").isEmpty() && !json) {
      console.line("no link events; tapline links events --help shows an example");
    }
    if (response.path("incomplete").asBoolean()) {
      console.hint("earlier events may be missing");
    }
    return 0;
  }

  private String path(Instant now) {
    StringBuilder path = new StringBuilder("/api/v1/links/events");
    add(path, "switch", switchName);
    add(path, "port", port);
    if (last != null) {
      long endNs = Moment.nanoseconds("--last", "0s", now);
      add(path, "from_ns", Long.toString(Math.max(0, endNs - Moment.duration("--last", last))));
    }
    add(path, "limit", limit == null ? null : limit.toString());
    return path.toString();
  }

  private static void add(StringBuilder path, String name, String value) {
    if (value != null) {
      path.append(path.indexOf("?") < 0 ? '?' : '&')
          .append(name)
          .append('=')
          .append(URLEncoder.encode(value, StandardCharsets.UTF_8));
    }
  }
}
