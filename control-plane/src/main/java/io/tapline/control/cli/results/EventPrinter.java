package io.tapline.control.cli.results;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.console.Console;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/**
 * Prints events as they arrive: as JSON lines for programs, or one line per event for people.
 * Prints at most {@link #MAX_LINES} lines a second for people, and then the number of omitted
 * events.
 */
public final class EventPrinter {
  static final int MAX_LINES = 20;

  private static final long SECOND_NS = 1_000_000_000L;
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS", Locale.ROOT).withZone(ZoneOffset.UTC);

  private final Console console;
  private final HostNames names;
  private final boolean json;
  private long secondBegan = System.nanoTime();
  private int lines;
  private long more;
  private long missing;
  private long interrupted;

  public EventPrinter(Console console, HostNames names, boolean json) {
    this.console = console;
    this.names = names;
    this.json = json;
  }

  /** Prints one entry of the event log (schema/redis.md, Events). */
  public void print(JsonNode report) {
    if (json) {
      report.path("events").forEach(console::json);
    } else {
      report.path("events").forEach(event -> line(event, report.path("monitor").asText()));
      warn(report);
    }
    console.flush();
  }

  private void line(JsonNode event, String monitor) {
    if (System.nanoTime() - secondBegan >= SECOND_NS) {
      secondBegan = System.nanoTime();
      end();
      lines = 0;
    }
    if (lines == MAX_LINES) {
      more++;
      return;
    }
    lines++;
    long ns = event.path("time_ns").asLong();
    StringBuilder line =
        new StringBuilder(
            "%s %s %s > %s"
                .formatted(
                    TIME.format(Instant.ofEpochSecond(ns / SECOND_NS, ns % SECOND_NS)),
                    event.path("parser").asText(),
                    end(event, "src"),
                    end(event, "dst")));
    event
        .path("fields")
        .properties()
        .forEach(
            field ->
                line.append(' ').append(field.getKey()).append('=').append(text(field.getValue())));
    console.line(line + " (" + monitor + ")");
  }

  private static String text(JsonNode value) {
    return value.isNull() ? "absent" : value.asText();
  }

  private String end(JsonNode event, String side) {
    String address = names.of(event.path(side + "_ip").asText());
    int port = event.path(side + "_port").asInt();
    return port == 0 ? address : address + " port " + port;
  }

  /** Prints the number of omitted events, if any. */
  public void end() {
    if (more > 0) {
      console.line("… and " + more + " more events within a second");
      more = 0;
    }
  }

  private void warn(JsonNode report) {
    long missingNow = report.path("missing").asLong();
    if (missingNow > missing) {
      console.hint((missingNow - missing) + " events are missing: a queue was full");
      missing = missingNow;
    }
    long interruptedNow = report.path("interrupted").asLong();
    if (interruptedNow > interrupted) {
      console.hint("a monitor ended unexpectedly: an unknown number of its last events is lost");
      interrupted = interruptedNow;
    }
  }
}
