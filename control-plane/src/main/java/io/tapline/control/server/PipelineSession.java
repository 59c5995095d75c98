package io.tapline.control.server;

import io.tapline.compiler.CompileResult;
import io.tapline.compiler.Compiler;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.control.HashKeys;
import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.ProgressListener;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.StopSignals;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.cli.options.ServiceOptions;
import io.tapline.control.embedded.EmbeddedOptions;
import io.tapline.control.embedded.EmbeddedPipeline;
import io.tapline.control.probe.ServerCheck;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryRejected;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueryState;
import io.tapline.control.query.TooManyQueries;
import io.tapline.control.query.WindowResult;
import io.tapline.control.query.monitors.Source;
import io.tapline.flink.RedisEndpoint;
import io.tapline.network.Network;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import redis.clients.jedis.exceptions.JedisException;

/** An embedded pipeline for one command's queries. */
public final class PipelineSession implements AutoCloseable {
  private static final long POLL_MS = 10;

  private final Console console;
  private final EmbeddedPipeline pipeline;

  private PipelineSession(Console console, EmbeddedPipeline pipeline) {
    this.console = console;
    this.pipeline = pipeline;
  }

  /**
   * Starts the pipeline after compiling the queries, so that the user does not wait seconds for a
   * syntax error.
   *
   * @param installation installation with its plug-ins
   * @param network network of the inventory, in which queries are placed
   * @param services external Kafka and Redis, if any
   * @param hashKeys hash keys of the monitors that it starts
   */
  public static PipelineSession start(
      Console console,
      Installation installation,
      Inventory inventory,
      Optional<Network> network,
      ServiceOptions services,
      HashKeys hashKeys,
      List<String> queries)
      throws PipelineException, QueryRejected {
    installation.requireMonitor();
    try (ProgressListener.Phase checking = console.progress().phase("check the query")) {
      Catalogue catalogue = installation.catalogue();
      Installation.requireTexts(inventory, catalogue);
      for (String query : queries) {
        checkQuery(query, catalogue, inventory);
      }
    }
    EmbeddedOptions options =
        options(console, installation, inventory, network, services, hashKeys, queries.size());
    return new PipelineSession(
        console,
        EmbeddedPipeline.begin(options, console.progress(), StopSignals::closeBeforeTheEnd));
  }

  /**
   * Starts the pipeline for queries that are submitted later.
   *
   * @param hashKeys hash keys of the monitors that it starts
   * @param mostQueries maximum number of queries that run at once
   */
  public static PipelineSession serve(
      Console console,
      Installation installation,
      Inventory inventory,
      Optional<Network> network,
      ServiceOptions services,
      HashKeys hashKeys,
      int mostQueries)
      throws PipelineException {
    EmbeddedOptions options =
        options(console, installation, inventory, network, services, hashKeys, mostQueries);
    return new PipelineSession(
        console,
        EmbeddedPipeline.start(options, console.progress(), StopSignals::closeBeforeTheEnd));
  }

  private static EmbeddedOptions options(
      Console console,
      Installation installation,
      Inventory inventory,
      Optional<Network> network,
      ServiceOptions services,
      HashKeys hashKeys,
      int mostQueries)
      throws PipelineException {
    Catalogue catalogue = installation.catalogue();
    Installation.requireTexts(inventory, catalogue);
    Optional<RedisEndpoint> redis = services.redis(console);
    ServerCheck.require(services.kafka(), redis);
    return new EmbeddedOptions(
        installation.monitor(),
        installation.plugins(),
        catalogue,
        inventory,
        network,
        services.brokers(),
        services.jobBrokers(),
        services.kafkaTls(),
        services.address(),
        redis,
        services.flink(),
        services.flinkTls(),
        services.checkpoints(),
        services.topics(),
        hashKeys,
        services.jobKey(console),
        mostQueries);
  }

  private static void checkQuery(String query, Catalogue catalogue, Inventory inventory)
      throws QueryRejected {
    CompileResult result =
        Compiler.compile(query, catalogue, inventory, Compiler.Options.local("check"));
    if (result.plan().isEmpty()) {
      throw new QueryRejected(query, result.errors());
    }
  }

  public QueryService queries() {
    return pipeline.queries();
  }

  /** Completes with the reason if a failure requires a restart. */
  public CompletableFuture<String> failure() {
    return pipeline.failure();
  }

  /** Submits a query and prints its notes to the console. */
  public String submit(String text, Source source) throws QueryRejected, PipelineException {
    try {
      String id = queries().submit(text, source, console.progress());
      queries()
          .find(id)
          .ifPresent(query -> query.notes().forEach(note -> console.hint("note: " + note)));
      return id;
    } catch (TooManyQueries e) {
      throw new PipelineException(Kind.RESOURCES, e.getMessage(), e);
    }
  }

  /**
   * Passes on each window as it arrives, until the query has ended.
   *
   * @throws PipelineException if the query failed
   */
  public void follow(String id, Consumer<WindowResult> consumer) throws PipelineException {
    String last = "";
    boolean ended = false;
    while (true) {
      List<WindowResult> page = page(id, last);
      for (WindowResult window : page) {
        consumer.accept(window);
        last = window.entry();
      }
      if (page.isEmpty() && ended) {
        break;
      } else if (page.isEmpty()) {
        // The end is checked before the last page is read, so that the page has everything written
        // until then.
        ended = queries().find(id).map(query -> query.state().ended()).orElse(true);
        pause(ended);
      }
    }
    requireSuccess(queries().awaitEnd(id));
  }

  private List<WindowResult> page(String id, String last) {
    try {
      return queries().results().windowsAfter(id, last);
    } catch (JedisException gone) {
      // The query will fail with the reason.
      return List.of();
    }
  }

  private static void pause(boolean ended) throws PipelineException {
    if (ended) {
      return;
    }
    try {
      Thread.sleep(POLL_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PipelineException(Kind.INTERNAL, "interrupted", e);
    }
  }

  private static void requireSuccess(QueryInfo query) throws PipelineException {
    if (query.state() == QueryState.FAILED) {
      throw new PipelineException(Kind.RESOURCES, query.error());
    }
  }

  @Override
  public void close() {
    try (ProgressListener.Phase closing = console.progress().phase("take everything down")) {
      if (console.endsProcess()) {
        pipeline.abandon();
      } else {
        pipeline.close();
      }
    }
  }
}
