package io.tapline.control.cli.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.query.WindowResult;
import java.io.IOException;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Follows a query to its end; reconnects after a broken connection and resumes after the last
 * window and the last events received.
 */
public final class QueryFollower {
  private static final Set<String> ENDED = Set.of("finished", "failed", "stopped");
  private static final int ATTEMPTS = 5;
  private static final long PAUSE_MS = 500;

  private final ApiClient client;
  private final String id;
  private String lastEvent = "";
  private int failures;

  public QueryFollower(ApiClient client, String id) {
    this.client = client;
    this.id = id;
  }

  /**
   * Passes every window to the consumer until the query has ended.
   *
   * @throws CommandException if the query failed, or if several attempts in a row failed because
   *     the server can't be reached or the stream ends early
   */
  public void untilEnd(Consumer<WindowResult> windows) throws InterruptedException {
    untilEnd(windows, reports -> {});
  }

  /**
   * Follows the query in the same way, and also passes on parsers' events as soon as they arrive.
   */
  public void untilEnd(Consumer<WindowResult> windows, Consumer<JsonNode> reports)
      throws InterruptedException {
    Optional<JsonNode> end = Optional.empty();
    while (end.isEmpty()) {
      CommandException failure = null;
      try (EventReader events =
          new EventReader(client.events(ApiClient.query(id, "/events"), lastEvent))) {
        end = read(events, windows, reports);
      } catch (IOException e) {
        // The connection broke before the query ended: the loop reconnects.
      } catch (ApiClient.Unreachable e) {
        // The server may be restarting: the loop tries again.
        failure = e;
      }
      if (end.isEmpty()) {
        pauseBeforeNext(failure);
      }
    }
    JsonNode state = end.get();
    if (state.path("state").asText().equals("failed")) {
      throw new CommandException("query " + id + " failed: " + state.path("error").asText());
    }
  }

  /**
   * Waits before the next attempt.
   *
   * @param failure reason why the server can't be reached; null if the stream ended early
   * @throws CommandException after the last attempt
   */
  private void pauseBeforeNext(CommandException failure) throws InterruptedException {
    if (++failures == ATTEMPTS) {
      throw failure != null
          ? failure
          : new CommandException("the server closed the events of query " + id + " repeatedly");
    }
    Thread.sleep(PAUSE_MS);
  }

  /** Reads until the query or the stream ends; returns the query's final state if received. */
  private Optional<JsonNode> read(
      EventReader events, Consumer<WindowResult> windows, Consumer<JsonNode> reports)
      throws IOException {
    for (Optional<EventReader.Event> next = events.next(); next.isPresent(); next = events.next()) {
      EventReader.Event event = next.get();
      JsonNode data = parse(event.data());
      if (event.name().equals("window")) {
        windows.accept(window(event.id().replaceFirst(",.*", ""), data));
        lastEvent = event.id();
        failures = 0;
      } else if (event.name().equals("events")) {
        reports.accept(data);
        lastEvent = event.id();
        failures = 0;
      } else if (event.name().equals("state") && ENDED.contains(data.path("state").asText())) {
        return Optional.of(data);
      }
    }
    return Optional.empty();
  }

  private static JsonNode parse(String data) {
    try {
      return ApiClient.MAPPER.readTree(data);
    } catch (JsonProcessingException e) {
      throw new CommandException("the server sent an event that is not JSON: " + data, e);
    }
  }

  private static WindowResult window(String entry, JsonNode data) {
    return new WindowResult(
        entry,
        data.path("processor").asInt(),
        data.path("name").asText(),
        data.path("window_start_ns").asLong(),
        data.path("window_end_ns").asLong(),
        data.path("rows"),
        data.path("completeness"));
  }
}
