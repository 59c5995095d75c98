package io.tapline.control.server;

import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.control.ProgressListener;
import io.tapline.control.embedded.EmbeddedOptions;
import io.tapline.control.embedded.EmbeddedPipeline;
import io.tapline.control.query.QueryInfo;
import io.tapline.control.query.QueryRejected;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.QueryState;
import io.tapline.control.query.TooManyQueries;
import io.tapline.control.query.WindowResult;
import io.tapline.control.query.monitors.Source;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import redis.clients.jedis.exceptions.JedisException;

/** An embedded pipeline for one command's queries. */
public final class PipelineSession implements AutoCloseable {
  private static final long POLL_MS = 10;

  private final Terminal terminal;
  private final EmbeddedPipeline pipeline;

  private PipelineSession(Terminal terminal, EmbeddedPipeline pipeline) {
    this.terminal = terminal;
    this.pipeline = pipeline;
  }

  /** Starts a pipeline; returns when queries can be submitted. */
  public static PipelineSession start(EmbeddedOptions options, Terminal terminal)
      throws PipelineException {
    return new PipelineSession(
        terminal, EmbeddedPipeline.begin(options, terminal.progress(), terminal::beforeExit));
  }

  /** Starts a pipeline for queries that are submitted later; returns when everything is running. */
  public static PipelineSession serve(EmbeddedOptions options, Terminal terminal)
      throws PipelineException {
    return new PipelineSession(
        terminal, EmbeddedPipeline.start(options, terminal.progress(), terminal::beforeExit));
  }

  public QueryService queries() {
    return pipeline.queries();
  }

  /** Completes with the reason if a failure requires a restart. */
  public CompletableFuture<String> failure() {
    return pipeline.failure();
  }

  /** Submits a query and prints its notes to the terminal. */
  public String submit(String text, Source source) throws QueryRejected, PipelineException {
    try {
      String id = queries().submit(text, source, terminal.progress());
      queries()
          .find(id)
          .ifPresent(query -> query.notes().forEach(note -> terminal.hint("note: " + note)));
      return id;
    } catch (TooManyQueries e) {
      throw new PipelineException(Kind.RESOURCES, e.getMessage(), e);
    }
  }

  /**
   * Passes each window to the consumer as it arrives, until the query has ended.
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
        // The end is checked before the last page is read, which therefore contains everything
        // written until then.
        ended = queries().find(id).map(query -> query.state().ended()).orElse(true);
        pause(ended);
      }
    }
    requireSuccess(queries().awaitEnd(id));
  }

  private List<WindowResult> page(String id, String last) {
    try {
      return queries().results().windowsAfter(id, last);
    } catch (JedisException e) {
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
    try (ProgressListener.Phase closing = terminal.progress().phase("shut everything down")) {
      if (terminal.endsProcess()) {
        pipeline.abandon();
      } else {
        pipeline.close();
      }
    }
  }
}
