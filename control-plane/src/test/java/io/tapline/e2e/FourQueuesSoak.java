package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Measures four queues at once, with monitors at one end of their links or at both: the errors of
 * the contents computed from copies, and the delays of events. Prints the results. The delays of
 * events depend on the machine's load, since the programs on their path share the processors with
 * all others.
 */
class FourQueuesSoak {
  /** Number of bursts during which the server and the stream job are still being JIT-compiled. */
  private static final int FIRST_BURSTS = 8;

  @ParameterizedTest
  @CsvSource({"5, false", "5, true", "20, true", "100, true"})
  void copiesShowTheKernelsQueues(int linkMbit, boolean bothEnds, @TempDir Path folder)
      throws Exception {
    FourQueues.Load load = load(linkMbit);
    Set<String> monitors = bothEnds ? Set.copyOf(FourQueues.MONITORS) : Set.of();
    List<FourQueues.Queue> queues;
    try (FourQueues four = FourQueues.up(load, monitors, folder)) {
      queues = four.run();
      assertThat(four.network.fabric.mirroring()).as("rules that remain").isEmpty();
    }
    List<Long> first = alerts(queues, 0, FIRST_BURSTS);
    List<Long> later = alerts(queues, FIRST_BURSTS, load.bursts());
    System.out.printf(
        "%d Mb/s, monitors at %s; events of the first %d bursts: %s; later: %s%n",
        linkMbit, bothEnds ? "both ends" : "one end", FIRST_BURSTS, text(first), text(later));
    for (FourQueues.Queue queue : queues) {
      System.out.println(queue);
      assertThat(queue.error(0.5)).as(queue.name()).isLessThanOrEqualTo(FourQueues.WIRE);
      assertThat(queue.error(0.99)).as(queue.name()).isLessThanOrEqualTo(3L * FourQueues.WIRE);
      assertThat(queue.arrived() - queue.left()).as(queue.name()).isEqualTo(queue.dropped());
    }
    assertThat(FourQueues.quantile(later, 0.5)).isLessThan(TimeUnit.MILLISECONDS.toNanos(200));
  }

  private static List<Long> alerts(List<FourQueues.Queue> queues, int from, int to) {
    return queues.stream().flatMap(queue -> queue.alertNs().stream().limit(to).skip(from)).toList();
  }

  private static String text(List<Long> delaysNs) {
    return "%d, p50 %.1f ms, p99 %.1f ms, max %.1f ms, %d above 50 ms"
        .formatted(
            delaysNs.size(),
            FourQueues.quantile(delaysNs, 0.5) / 1e6,
            FourQueues.quantile(delaysNs, 0.99) / 1e6,
            FourQueues.quantile(delaysNs, 1) / 1e6,
            delaysNs.stream().filter(ns -> ns > TimeUnit.MILLISECONDS.toNanos(50)).count());
  }

  /**
   * Returns a load for queues of 300 packets. A burst fills a queue with about 60 packets at 5
   * Mb/s, 180 at 20 Mb/s, and up to its limit at 100 Mb/s.
   */
  private static FourQueues.Load load(int linkMbit) {
    return switch (linkMbit) {
      case 5 -> new FourQueues.Load(linkMbit, 300, 20, 180, 1000, 20);
      case 20 -> new FourQueues.Load(linkMbit, 300, 20, 560, 700, 10);
      default -> new FourQueues.Load(linkMbit, 300, 40, 1200, 500, 5);
    };
  }
}
