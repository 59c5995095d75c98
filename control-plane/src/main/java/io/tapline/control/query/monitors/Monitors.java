package io.tapline.control.query.monitors;

import io.tapline.control.ProgressListener;
import io.tapline.control.query.services.Backend;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The monitors of queries on this host: one process for each query on capture files, and one for
 * all queries on an interface, up to its capacity. A shared process starts with the first query and
 * stays until {@link #close}; if it fails, the next query gets a new one. Thread-safe.
 */
public final class Monitors implements AutoCloseable {
  private final Backend backend;
  private final int mostShared;
  private final Map<Source, List<SharedMonitor>> shared = new HashMap<>();
  private final AtomicInteger running = new AtomicInteger();

  public Monitors(Backend backend) {
    this(backend, SharedMonitor.MOST_QUERIES);
  }

  /**
   * Monitors with a lower limit.
   *
   * @param mostShared maximum number of queries that share a monitor of an interface
   */
  Monitors(Backend backend, int mostShared) {
    this.backend = backend;
    this.mostShared = mostShared;
  }

  /**
   * Starts a monitor for a query whose topic exists.
   *
   * @param progress progress through capture files; an interface has no end, and a shared monitor's
   *     packets are not one query's
   * @param onReady called once, when the monitor sees packets
   */
  public QueryMonitor start(Plan plan, Source source, ProgressListener progress, Runnable onReady)
      throws IOException {
    if (source.live()) {
      return addToShared(plan, source, onReady);
    }
    OwnMonitor own = OwnMonitor.start(backend, plan, source, progress, onReady);
    count(own.end());
    return own;
  }

  private synchronized QueryMonitor addToShared(Plan plan, Source source, Runnable onReady)
      throws IOException {
    List<SharedMonitor> monitors = shared.computeIfAbsent(source, any -> new ArrayList<>());
    monitors.removeIf(monitor -> monitor.end().isDone());
    Optional<SharedMonitor> withRoom =
        monitors.stream().filter(monitor -> monitor.queries() < mostShared).findFirst();
    if (withRoom.isPresent()) {
      return withRoom.get().add(plan, onReady);
    }
    SharedMonitor another = startShared(source, plan.getMonitors(0).getId());
    monitors.add(another);
    return another.add(plan, onReady);
  }

  private SharedMonitor startShared(Source source, String id) throws IOException {
    SharedMonitor monitor =
        SharedMonitor.start(
            new MonitorProcess.Command(
                backend.monitor(),
                backend.plugins(),
                backend.hashKeyFile(),
                backend.access().monitors(),
                List.of("--control"),
                id,
                backend.endpoints().kafka(),
                source));
    count(monitor.end());
    return monitor;
  }

  private void count(CompletableFuture<Void> end) {
    running.incrementAndGet();
    end.whenComplete((nothing, error) -> running.decrementAndGet());
  }

  /** Returns the number of processes that have not ended. */
  public int running() {
    return running.get();
  }

  /** REQUIRES: no query is running. */
  @Override
  public synchronized void close() {
    shared.values().stream().flatMap(List::stream).forEach(SharedMonitor::close);
    shared.clear();
  }
}
