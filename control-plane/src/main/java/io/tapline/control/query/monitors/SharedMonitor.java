package io.tapline.control.query.monitors;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.PipelineException;
import io.tapline.control.PipelineException.Kind;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One monitor process for queries on an interface, at most {@link #MOST_QUERIES}: each packet is
 * captured and parsed once. Queries are added and removed by lines of JSON on its standard input
 * (monitors/control/control_channel.h). It ends by {@link #close}, or by a failure, which fails all
 * its queries. Thread-safe.
 *
 * <p>Each slot ends once: when the monitor reports it, with the process, or after a timeout.
 */
final class SharedMonitor implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SharedMonitor.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Packets have as many bits for queries (monitors/plan/query_spec.h). */
  static final int MOST_QUERIES = 64;

  /** How long it may take to flush one query, or all of them. */
  private static final long FLUSH_SECONDS = 10;

  private final Map<String, Place> places = new ConcurrentHashMap<>();
  private final MonitorProcess process;

  /** Writes commands in order, so that no caller waits for a monitor that does not read. */
  private final ExecutorService commands =
      new ThreadPoolExecutor(
          1,
          1,
          0,
          TimeUnit.SECONDS,
          new LinkedBlockingQueue<>(),
          SharedMonitor::thread,
          new ThreadPoolExecutor.DiscardPolicy());

  private SharedMonitor(MonitorProcess.Command command) throws IOException {
    process = MonitorProcess.start(command, new Events());
  }

  /**
   * Starts the process.
   *
   * @param command with {@code --control}
   */
  static SharedMonitor start(MonitorProcess.Command command) throws IOException {
    SharedMonitor monitor = new SharedMonitor(command);
    monitor.end().whenComplete((nothing, error) -> monitor.processEnded(error));
    return monitor;
  }

  private static Thread thread(Runnable task) {
    Thread thread = new Thread(task, "monitor-commands");
    thread.setDaemon(true);
    return thread;
  }

  /** Completes with the process: see {@link MonitorProcess#end}. */
  CompletableFuture<Void> end() {
    return process.end();
  }

  /** Returns the number of its queries. */
  int queries() {
    return places.size();
  }

  /** Adds a query whose topic exists. If the monitor refuses it, only this query fails. */
  QueryMonitor add(Plan plan, Runnable onReady) throws IOException {
    Place place = new Place(plan.getQuery(), onReady);
    places.put(place.query, place);
    send("add", json(plan));
    if (end().isDone()) {
      // The end may have been handled before this slot existed.
      end().whenComplete((nothing, error) -> processEnded(error));
    }
    return place;
  }

  private static JsonNode json(Plan plan) throws IOException {
    try {
      return MAPPER.readTree(Plans.toJson(plan));
    } catch (JsonProcessingException e) {
      throw new IOException("a plan that is no JSON", e);
    }
  }

  private void send(String command, JsonNode what) {
    commands.execute(
        () -> {
          try {
            process.send(MAPPER.createObjectNode().set(command, what));
          } catch (IOException e) {
            // The process has ended, which ends all slots with the reason.
            LOG.info("the monitor does not hear of {}: {}", command, e.getMessage());
          }
        });
  }

  private void processEnded(Throwable error) {
    commands.shutdownNow();
    for (String query : places.keySet()) {
      leave(query, error);
    }
  }

  private void leave(String query, Throwable error) {
    Place place = places.remove(query);
    if (place == null) {
      return;
    }
    if (error == null) {
      place.end.complete(null);
    } else {
      place.end.completeExceptionally(error);
    }
  }

  /** Warnings concern the interface, not a query, so they are logged once. */
  private final class Events implements MonitorEvents {
    @Override
    public void warning(String message) {
      LOG.warn("monitor: {}", message);
    }

    @Override
    public void queryAdded(String query) {
      Place place = places.get(query);
      if (place != null) {
        place.added = true;
        place.onReady.run();
      }
    }

    @Override
    public void queryRefused(String query, PipelineException reason) {
      Place place = places.get(query);
      if (place == null || place.added) {
        // The query had already ended when it was asked to; its end is reported separately.
        LOG.info("monitor: {}: {}", query, reason.getMessage());
      } else {
        leave(query, reason);
      }
    }

    @Override
    public void queryEnded(String query, JsonNode accounting) {
      LOG.info("monitor: {} has ended: {}", query, accounting);
      leave(query, null);
    }
  }

  /** A query's slot in this monitor. */
  private final class Place implements QueryMonitor {
    private final String query;
    private final Runnable onReady;
    private final CompletableFuture<Void> end = new CompletableFuture<>();
    private final AtomicBoolean stopRequested = new AtomicBoolean();
    private volatile boolean killed;

    /** Accessed only by the thread of events. */
    private boolean added;

    Place(String query, Runnable onReady) {
      this.query = query;
      this.onReady = onReady;
    }

    @Override
    public CompletableFuture<Void> end() {
      return end;
    }

    @Override
    public double limit(double rate) {
      send("limit", MAPPER.createObjectNode().put("query", query).put("rate", rate));
      return rate;
    }

    @Override
    public void stop() {
      askToEnd();
    }

    private boolean askToEnd() {
      boolean first = stopRequested.compareAndSet(false, true);
      if (first) {
        send("end", MAPPER.getNodeFactory().textNode(query));
      }
      return first;
    }

    /** A query that was asked to end has had its time when this is called. */
    @Override
    public void kill() {
      if (end.isDone()) {
        return;
      }
      killed = true;
      if (askToEnd()) {
        awaitQuietly(end);
      }
      leave(query, new PipelineException(Kind.RESOURCES, "the monitor does not end the query"));
    }

    @Override
    public boolean killed() {
      return killed;
    }
  }

  /** Returns the error, if any. */
  private static Optional<String> awaitQuietly(CompletableFuture<Void> end) {
    try {
      end.get(FLUSH_SECONDS, TimeUnit.SECONDS);
      return Optional.empty();
    } catch (ExecutionException e) {
      return Optional.of(e.getCause().getMessage());
    } catch (TimeoutException e) {
      return Optional.of("it does not end");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.of("interrupted");
    }
  }

  /** Ends the process once it has flushed everything; returns when it has exited. */
  @Override
  public void close() {
    if (end().isDone()) {
      return;
    }
    process.stop();
    awaitQuietly(end()).ifPresent(reason -> LOG.warn("the monitor's end: {}", reason));
    process.kill();
  }
}
