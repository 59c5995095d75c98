package io.tapline.control.watches;

import io.tapline.compiler.TriggerCompiler.TriggerText;
import io.tapline.compiler.access.Rights;
import io.tapline.control.query.QueryPlanner;
import io.tapline.control.query.monitors.Source;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Compiles watches that no one has added, so that class loading and the first use of the query
 * grammar, which take more than half a second, do not delay the first request.
 */
final class WatchWarmup {
  /** Number of watches; higher than the number of calls after which Java compiles a method. */
  private static final int WATCHES = 512;

  private static final long EVERY_NS = 10_000_000;

  private WatchWarmup() {}

  /** Compiles the watches on a separate thread. */
  static void start(QueryPlanner planner, Source source) {
    Thread thread = new Thread(() -> run(planner, source), "watch-warmup");
    thread.setDaemon(true);
    thread.start();
  }

  private static void run(QueryPlanner planner, Source source) {
    List<TriggerText> watches =
        IntStream.rangeClosed(1, WATCHES)
            .mapToObj(port -> "dst_port == %d".formatted(port))
            .map(
                only ->
                    new TriggerText("sum(bytes) > 0", List.of("src_ip"), only, EVERY_NS, "info"))
            .toList();
    planner.triggerCompiler(MonitorQuery.clauses("*"), source, Rights.ALL).compile(watches);
  }
}
