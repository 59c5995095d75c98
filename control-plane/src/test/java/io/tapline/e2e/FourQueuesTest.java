package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests four queues at once, at a rate that polled switches sustain on a busy machine, with
 * monitors at both ends of their links. {@link FourQueuesSoak} measures errors and delays.
 */
@MakesNetworkDevices
class FourQueuesTest {
  private static final FourQueues.Load LOAD = new FourQueues.Load(5, 100, 6, 110, 1000, 20);

  /**
   * A busy machine delays some bursts so much that they do not fill the queue, or that they merge.
   */
  private static final int MIN_BURSTS = 2;

  /** Uses bounds that a machine meets even while other tests are running. */
  @Test
  void copiesShowTheKernelsQueuesAndEventsFollowTheirPackets(@TempDir Path folder)
      throws Exception {
    List<FourQueues.Queue> queues;
    try (FourQueues four = FourQueues.up(LOAD, true, folder)) {
      queues = four.run();
    }
    assertThat(queues).extracting(FourQueues.Queue::name).isEqualTo(FourQueues.names());
    long max = (long) LOAD.queuePackets() * FourQueues.WIRE;
    for (FourQueues.Queue queue : queues) {
      String seen = queue.toString();
      assertThat(queue.matched()).as(seen).isGreaterThan(LOAD.bursts() * LOAD.burstPackets());
      assertThat(queue.matched()).as(seen).isGreaterThan(queue.arrived() * 8 / 10);
      assertThat(queue.bytes()).as(seen).anyMatch(bytes -> bytes > max / 5);
      assertThat(queue.error(0.5)).as(seen).isLessThan(2L * FourQueues.WIRE);
      assertThat(queue.error(0.9)).as(seen).isLessThan(max / 10);
      assertThat(queue.alertNs()).as(seen).hasSizeGreaterThanOrEqualTo(MIN_BURSTS);
      assertThat(FourQueues.quantile(queue.alertNs(), 0.5))
          .as(seen)
          .isLessThan(TimeUnit.SECONDS.toNanos(1));
    }
  }
}
