package io.tapline.control.query;

import io.tapline.control.ProgressListener;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The monitors of queries on this host: a process for each query on capture files, one for all on
 * an interface. That is started with the first query and stays until {@link #close}; if it fails,
 * the next query gets a new one. Thread-safe.
 */
final class Monitors implements AutoCloseable {
  private final Backend backend;
  private final Map<Source, SharedMonitor> shared = new HashMap<>();
  private final AtomicInteger running = new AtomicInteger();

  Monitors(Backend backend) {
    this.backend = backend;
  }

  /**
   * Sets a monitor to watch for a query whose topic is there.
   *
   * @param progress of files; an interface has no end, and what a shared monitor sees is not one
   *     query's
   * @param onReady called once, when it sees packets
   */
  QueryMonitor start(Plan plan, Source source, ProgressListener progress, Runnable onReady)
      throws IOException {
    if (source.live()) {
      return sharedOn(source, plan.getMonitors(0).getId()).add(plan, onReady);
    }
    OwnMonitor own = OwnMonitor.start(backend, plan, source, progress, onReady);
    count(own.end());
    return own;
  }

  private synchronized SharedMonitor sharedOn(Source source, String id) throws IOException {
    SharedMonitor monitor = shared.get(source);
    if (monitor == null || monitor.end().isDone()) {
      monitor =
          SharedMonitor.start(
              new MonitorProcess.Command(
                  backend.monitor(),
                  backend.plugins(),
                  List.of("--control"),
                  id,
                  backend.endpoints(),
                  source));
      shared.put(source, monitor);
      count(monitor.end());
    }
    return monitor;
  }

  private void count(CompletableFuture<Void> end) {
    running.incrementAndGet();
    end.whenComplete((nothing, error) -> running.decrementAndGet());
  }

  /** Processes that have not ended. */
  int running() {
    return running.get();
  }

  /** REQUIRES: no query runs any more. */
  @Override
  public synchronized void close() {
    shared.values().forEach(SharedMonitor::close);
    shared.clear();
  }
}
