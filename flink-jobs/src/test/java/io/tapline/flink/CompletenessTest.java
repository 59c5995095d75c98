package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.flink.ingest.Pipeline;
import io.tapline.flink.support.MonitorStream;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Tuple;
import io.tapline.flink.support.Workload;
import io.tapline.schema.proto.Dropped;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.TupleBatch;
import java.util.List;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that each window reports its own losses. */
class CompletenessTest {
  private static final long SECOND = 1_000_000_000L;

  @Test
  void lossesAreReportedInTheirWindows() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "2s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      feed(pipeline, monitor.batch(10 * SECOND, List.of(get(9 * SECOND, "/a"))));
      feed(pipeline, losing(monitor.batch(11 * SECOND, List.of(get(10 * SECOND, "/a"))), 5));
      feed(pipeline, monitor.batch(12 * SECOND, List.of(get(11 * SECOND, "/a"))));
      pipeline.restart(2);
      feed(pipeline, losing(monitor.batch(13 * SECOND, List.of(get(12 * SECOND, "/a"))), 7));
      feed(pipeline, monitor.end(14 * SECOND));
      // Windows end at 10, 11, 12, 13 and 14 s.
      assertThat(figures(pipeline, c -> c.get("dropped").path("queue_full").asLong()))
          .containsExactly(0L, 5L, 5L, 7L, 7L);
      assertThat(figures(pipeline, c -> c.get("tuples").asLong()))
          .containsExactly(1L, 2L, 2L, 2L, 1L);
      assertThat(figures(pipeline, c -> c.get("packets_in").asLong()).get(1)).isEqualTo(22);
    }
  }

  @Test
  void packetsThatWereStampedWhenPolledAreCounted() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      feed(pipeline, monitor.batch(10 * SECOND, List.of(get(9 * SECOND, "/a"))));
      feed(pipeline, polled(monitor.batch(11 * SECOND, List.of(get(10 * SECOND, "/a"))), 4));
      pipeline.restart(2);
      feed(pipeline, polled(monitor.batch(12 * SECOND, List.of(get(11 * SECOND, "/a"))), 3));
      feed(pipeline, monitor.end(13 * SECOND));
      assertThat(figures(pipeline, c -> c.path("packets_polled").asLong(-1)))
          .as("left out if there are none")
          .containsExactly(-1L, 4L, 3L);
    }
  }

  private static TupleBatch polled(TupleBatch batch, long packets) {
    TupleBatch.Builder builder = batch.toBuilder();
    builder.getAccountingBuilder().setPacketsPolled(packets);
    return builder.build();
  }

  @Test
  void theRateOfAWindowIsTheLowestInIt() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      for (int second = 1; second < 5; second++) {
        TupleBatch batch =
            monitor.batch((second + 1) * SECOND, List.of(get(second * SECOND, "/a")));
        double rate = second == 2 ? 0.25 : 1;
        feed(pipeline, batch.toBuilder().setSamplingRate(rate).build());
      }
      feed(pipeline, monitor.end(6 * SECOND));
      assertThat(figures(pipeline, c -> Math.round(100 * c.get("sampling_rate").asDouble())))
          .containsExactly(100L, 25L, 100L, 100L);
    }
  }

  /**
   * Tests that windows are written if tuples may have gone unseen in them. A second that the
   * monitor watched without seeing any tuples has no window.
   */
  @Test
  void windowsInAGapOfTheOnlyMonitorAreWrittenWithoutRows() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      feed(pipeline, monitor.batch(10 * SECOND, List.of(get(9 * SECOND, "/a"))));
      feed(pipeline, monitor.batch(12 * SECOND + SECOND / 2, List.of()));
      monitor.restart().epoch(2);
      feed(pipeline, monitor.batch(15 * SECOND + SECOND / 2, List.of()));
      pipeline.restart(2);
      feed(pipeline, monitor.batch(17 * SECOND, List.of(get(16 * SECOND, "/a"))));
      feed(pipeline, monitor.end(18 * SECOND));
      assertThat(pipeline.windows(0).stream().map(window -> window.get("end").asLong() / SECOND))
          .containsExactly(10L, 13L, 14L, 15L, 16L, 17L);
      assertThat(figures(pipeline, c -> c.get("dropped").path("monitor_replaced").asLong()))
          .containsExactly(0L, 1L, 1L, 1L, 1L, 0L);
      assertThat(pipeline.windows(0).stream().map(window -> window.get("rows").size()))
          .containsExactly(1, 0, 0, 0, 0, 1);
    }
  }

  /**
   * Tests losses of several seconds, which the next batch reports: each second gets a share, and
   * the shares add up to the total.
   */
  @Test
  void aPausedMonitorLostPacketsInEachSecond() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      feed(pipeline, monitor.batch(10 * SECOND, List.of(get(9 * SECOND, "/a"))));
      feed(pipeline, monitor.batch(12 * SECOND + SECOND / 2, List.of()));
      TupleBatch lateBatch = monitor.batch(15 * SECOND + SECOND / 2, List.of());
      feed(pipeline, losing(lateBatch, "kernel_missed", 42));
      pipeline.restart(2);
      feed(pipeline, monitor.batch(17 * SECOND, List.of(get(16 * SECOND, "/a"))));
      feed(pipeline, monitor.end(18 * SECOND));
      assertThat(pipeline.windows(0).stream().map(window -> window.get("end").asLong() / SECOND))
          .containsExactly(10L, 13L, 14L, 15L, 16L, 17L);
      assertThat(figures(pipeline, c -> c.get("dropped").path("kernel_missed").asLong()))
          .containsExactly(0L, 10L, 11L, 10L, 11L, 0L);
    }
  }

  /** Tests that consecutive windows together count everything exactly once. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void tumblingWindowsAddUpToTheTotals(int monitors) throws Exception {
    Plan plan =
        Plans.plan(
            "q",
            monitors,
            Plans.group("COUNT", "", "\"size\":\"2s\",\"slide\":\"2s\"")
                + ","
                + Plans.topK(3, "3s", "3s"));
    Workload workload = new Workload("q", monitors, 20, 400, 11 + monitors);
    try (Pipeline pipeline = new Pipeline(plan, JobOptions.defaults().withParallelism(monitors))) {
      for (int i = 0; workload.partitions.stream().anyMatch(p -> !p.isEmpty()); i++) {
        List<byte[]> partition = workload.partitions.get(i % monitors);
        if (!partition.isEmpty()) {
          pipeline.feed(i % monitors, partition.remove(0));
        }
        if (i == 30) {
          pipeline.restart(2);
        }
      }
      assertThat(pipeline.windows(0)).hasSizeGreaterThan(8);
      assertThat(sum(pipeline, 0, "tuples")).isEqualTo(workload.tuples.size());
      assertThat(sum(pipeline, 1, "tuples")).isEqualTo(workload.tuples.size());
      assertThat(sum(pipeline, 1, "packets_in")).isEqualTo(11L * workload.tuples.size());
    }
  }

  private static long sum(Pipeline pipeline, int processor, String field) {
    return pipeline.windows(processor).stream()
        .mapToLong(window -> window.get("completeness").get(field).asLong())
        .sum();
  }

  private static List<Long> figures(Pipeline pipeline, ToLongFunction<JsonNode> figure) {
    return pipeline.windows(0).stream()
        .map(window -> figure.applyAsLong(window.get("completeness")))
        .toList();
  }

  private static TupleBatch losing(TupleBatch batch, int packets) {
    return losing(batch, "queue_full", packets);
  }

  private static TupleBatch losing(TupleBatch batch, String reason, int packets) {
    Dropped loss = Dropped.newBuilder().setReason(reason).setCount(packets).build();
    return batch.toBuilder()
        .setAccounting(batch.getAccounting().toBuilder().addDropped(loss))
        .build();
  }

  private static void feed(Pipeline pipeline, TupleBatch batch) throws Exception {
    pipeline.feed(0, batch.toByteArray());
  }

  private static Pipeline pipeline(int monitors, String processors) throws Exception {
    return new Pipeline(Plans.plan("q", monitors, processors), JobOptions.defaults());
  }

  private static Tuple get(long timeNs, String url) {
    return Tuple.http(timeNs, timeNs, url, 0);
  }
}
