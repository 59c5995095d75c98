package io.tapline.control.query;

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
 * captured and parsed once. Queries come and go by lines of JSON on its standard input
 * (monitors/control/control_channel.h). It ends by {@link #close}, or as a failure, which is one of
 * every query that it has. Thread-safe.
 *
 * <p>Each place ends once: by the monitor's word, with the process, or given up after a time
 * without an answer.
 */
final class SharedMonitor implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SharedMonitor.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** As many bits as packets have for queries (monitors/plan/query_spec.h). */
  static final int MOST_QUERIES = 64;

  /** How long it may take to flush a query, or all. */
  private static final long FLUSH_SECONDS = 10;

  private final Map<String, Place> places = new ConcurrentHashMap<>();
  private final MonitorProcess process;

  /** Writes commands in order, so that nobody waits for a monitor that does not read. */
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

  /** Queries that it has. */
  int queries() {
    return places.size();
  }

  /** Adds a query whose topic is there. What keeps the monitor from taking it is its failure. */
  QueryMonitor add(Plan plan, Runnable onReady) throws IOException {
    Place place = new Place(plan.getQuery(), onReady);
    places.put(place.query, place);
    send("add", json(plan));
    if (end().isDone()) {
      // It may have gone through the places before this one was there.
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
            // It has ended, which all places are told of with the reason.
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

  /** Warnings are about the interface, not about a query: they are told once. */
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
        // It was asked to end after it had: its end is told of otherwise.
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

  /** A query's place in this monitor. */
  private final class Place implements QueryMonitor {
    private final String query;
    private final Runnable onReady;
    private final CompletableFuture<Void> end = new CompletableFuture<>();
    private final AtomicBoolean stopRequested = new AtomicBoolean();
    private volatile boolean killed;

    /** Used by the thread of events only. */
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

    /** One that was asked to end has had its time when this is called. */
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

  /** Returns what went wrong, if anything did. */
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

  /** Ends the process, once all that it has seen is out; returns when it is gone. */
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
