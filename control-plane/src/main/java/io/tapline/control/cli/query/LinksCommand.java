package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline links}. */
@Command(
    name = "links",
    description = "Shows the latest link loads that link_load queries measured.",
    subcommands = LinkEventsCommand.class,
    footer = {
      "",
      "A query that measures them once a millisecond:",
      "  tapline query submit \"PARSE link_load(link=10000000000, every=1ms) FROM * TO * PROCESS"
          + " (group-max: by=share, group=(switch, port), w=1s)\""
    })
public final class LinksCommand implements Callable<Integer> {
  private static final long POLL_MS = 500;

  private final Console console;

  @Option(names = "--switch", paramLabel = "NAME", description = "Only links of this switch.")
  private String switchName = "";

  @Option(
      names = "--min-share",
      paramLabel = "S",
      description = "Only links whose load is at least this share of their speed, 0 to 1.")
  private String minShare = "";

  @Option(names = "--follow", description = "Continue to print loads as windows end.")
  private boolean follow;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print a JSON line per link.")
  private boolean json;

  LinksCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws InterruptedException {
    ApiClient client = server.client();
    LinkTable shownTable = new LinkTable();
    boolean hasAny = print(client, shownTable);
    if (!hasAny && !json) {
      console.line(
          follow
              ? "no link has been measured yet; waiting"
              : "no link has been measured; tapline links --help shows an example");
    }
    while (follow) {
      console.flush();
      Thread.sleep(POLL_MS);
      print(client, shownTable);
    }
    return 0;
  }

  /** Prints links with loads that have not been printed yet; returns true if there were any. */
  private boolean print(ApiClient client, LinkTable shownTable) {
    boolean hasAny = false;
    for (JsonNode link : client.get(path()).path("links")) {
      if (shownTable.add(link)) {
        hasAny = true;
        if (json) {
          console.json(link);
        }
      }
    }
    if (hasAny && !json) {
      console.print(shownTable.take(console.columns()));
    }
    return hasAny;
  }

  private String path() {
    StringBuilder path = new StringBuilder("/api/v1/links");
    if (!switchName.isEmpty()) {
      path.append("?switch=").append(encoded(switchName));
    }
    if (!minShare.isEmpty()) {
      path.append(switchName.isEmpty() ? '?' : '&').append("min_share=").append(encoded(minShare));
    }
    return path.toString();
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
