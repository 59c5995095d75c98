package io.tapline.control.cli.query;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.client.QueryFollower;
import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.StopSignals;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.results.ResultTables;
import io.tapline.control.query.WindowResult;
import io.tapline.control.replicas.Change;
import io.tapline.control.replicas.Pool;
import io.tapline.control.replicas.ReplicaManager;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tapline replicate}: the updater of NetAlytics, section 7.3. */
@Command(
    name = "replicate",
    description =
        "Starts and stops additional web servers with copies of the pages that a query ranks highest.",
    footer = {
      "",
      "The query ranks URLs: PARSE http_get … PROCESS (top-k: …). nginx reads the locations of pages from Redis.",
      "Ends with the query, or cleanly on SIGTERM or Ctrl-C; only the first server then remains."
    })
public final class ReplicateCommand implements Callable<Integer> {
  private static final long QUIET_NS = 10_000_000_000L;

  private final Console console;

  @Parameters(paramLabel = "ID", description = "The query's ID.")
  private String id;

  @Option(
      names = "--pool",
      paramLabel = "FILE",
      required = true,
      description = "YAML file of the web servers, thresholds and Redis.")
  private Path file;

  @Mixin private ServerOption server;

  @Option(names = "--json", description = "Print changes as JSON lines.")
  private boolean json;

  ReplicateCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws Exception {
    Pool pool = pool();
    ApiClient client = server.client();
    int ranking = ranking(client.get(ApiClient.query(id, "")).path("plan").path("processors"));
    CompletableFuture<Void> end = new CompletableFuture<>();
    StopSignals.handle(() -> end.complete(null));
    try (ReplicaManager manager = ReplicaManager.open(pool, this::print, console::hint)) {
      AtomicLong heardNs = new AtomicLong(System.nanoTime());
      Thread follower =
          new Thread(() -> follow(client, ranking, manager, heardNs, end), "replicate-windows");
      follower.setDaemon(true);
      follower.start();
      await(end, manager, heardNs, Math.max(QUIET_NS, pool.thresholds().backOffNs()));
    }
    return 0;
  }

  private Pool pool() {
    try {
      return Pool.read(Files.readString(file));
    } catch (NoSuchFileException e) {
      throw new UsageException("--pool " + file + ": there is no such file");
    } catch (IOException e) {
      throw new UsageException("--pool " + file + ": can't be read");
    } catch (IllegalArgumentException e) {
      throw new UsageException("--pool " + file + ": " + e.getMessage());
    }
  }

  /** Returns the index of the query's processor that ranks URLs. */
  private int ranking(JsonNode processors) {
    for (int i = 0; i < processors.size(); i++) {
      JsonNode key = processors.get(i).path("key");
      boolean urls = key.size() == 1 && key.get(0).asText().equals("url");
      if (urls && processors.get(i).has("ranking")) {
        return i;
      }
    }
    throw new UsageException(
        "query "
            + id
            + " ranks no URLs: submit PARSE http_get … PROCESS (top-k: k=20, w=5s, s=1s)");
  }

  private void follow(
      ApiClient client,
      int ranking,
      ReplicaManager manager,
      AtomicLong heardNs,
      CompletableFuture<Void> end) {
    try {
      new QueryFollower(client, id)
          .untilEnd(
              window -> {
                heardNs.set(System.nanoTime());
                look(manager, ranking, window, end);
              });
      end.complete(null);
    } catch (InterruptedException | RuntimeException e) {
      end.completeExceptionally(e);
    }
  }

  private static void look(
      ReplicaManager manager, int ranking, WindowResult window, CompletableFuture<Void> end) {
    if (window.processor() == ranking && !end.isDone()) {
      manager.look(window);
    }
  }

  /**
   * Waits until the query ends or the user stops the command. While no windows arrive, because
   * there are no requests, updates the replicas without counts.
   */
  private static void await(
      CompletableFuture<Void> end, ReplicaManager manager, AtomicLong heardNs, long quietNs)
      throws Exception {
    while (true) {
      try {
        end.get(1, TimeUnit.SECONDS);
        return;
      } catch (TimeoutException notYet) {
        long silentNs = System.nanoTime() - heardNs.get();
        if (silentNs > quietNs) {
          manager.updateWithoutCounts(silentNs);
        }
      } catch (ExecutionException e) {
        throw e.getCause() instanceof Exception cause ? cause : e;
      }
    }
  }

  private void print(Change change) {
    if (json) {
      console.line(
          ApiClient.MAPPER
              .createObjectNode()
              .put("time_ns", change.timeNs())
              .put("servers", change.servers())
              .put("pages", change.pages())
              .put("reason", change.reason())
              .toString());
    } else {
      String servers = change.servers() == 1 ? "1 server" : change.servers() + " servers";
      console.line(
          "%s UTC  %s, %d pages on all  (%s)"
              .formatted(
                  ResultTables.dayAndTime(change.timeNs()),
                  servers,
                  change.pages(),
                  change.reason()));
    }
    console.flush();
  }
}
