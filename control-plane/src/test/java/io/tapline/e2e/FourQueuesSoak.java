package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Measures four queues at once, with monitors at one end of their links or at both: the errors of
 * the contents computed from copies, and the delays of events. Prints the figures. Those of events
 * depend on the load, since the programs of the path share the processors with all others.
 */
class FourQueuesSoak {
  @ParameterizedTest
  @CsvSource({"5, false", "5, true", "20, true", "100, true"})
  void copiesShowTheKernelsQueues(int linkMbit, boolean bothEnds, @TempDir Path folder)
      throws Exception {
    FourQueues.Load load = load(linkMbit);
    List<FourQueues.Queue> queues;
    try (FourQueues four = FourQueues.up(load, bothEnds, folder)) {
      queues = four.run();
    }
    List<Long> alerts = queues.stream().flatMap(queue -> queue.alertNs().stream()).toList();
    System.out.printf(
        "%d Mb/s, monitors at %s; events p50 %.1f ms, p99 %.1f ms, max %.1f ms of %d%n",
        linkMbit,
        bothEnds ? "both ends" : "one end",
        FourQueues.quantile(alerts, 0.5) / 1e6,
        FourQueues.quantile(alerts, 0.99) / 1e6,
        FourQueues.quantile(alerts, 1) / 1e6,
        alerts.size());
    queues.forEach(System.out::println);
    assertThat(FourQueues.quantile(alerts, 0.5)).isLessThan(TimeUnit.MILLISECONDS.toNanos(200));
  }

  /** Bursts that almost fill a queue of 300 packets. */
  private static FourQueues.Load load(int linkMbit) {
    return switch (linkMbit) {
      case 5 -> new FourQueues.Load(linkMbit, 300, 20, 130, 700, 20);
      case 20 -> new FourQueues.Load(linkMbit, 300, 20, 400, 700, 10);
      default -> new FourQueues.Load(linkMbit, 300, 40, 900, 500, 5);
    };
  }
}
