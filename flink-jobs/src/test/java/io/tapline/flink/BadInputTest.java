package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.flink.ingest.Pipeline;
import io.tapline.flink.support.MonitorStream;
import io.tapline.flink.support.Oracle;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Tuple;
import io.tapline.flink.support.Workload;
import io.tapline.schema.proto.TupleBatch;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Tests that records that no healthy monitor would send are counted, and do not affect other
 * records.
 */
class BadInputTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long HOUR = 3600 * SECOND;

  @Test
  void tuplesFromTheFarFutureAreCountedAndOpenNoWindow() throws Exception {
    try (Pipeline pipeline = pipeline(Plans.topK(3, "1s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      feed(pipeline, monitor.batch(10 * SECOND, List.of(get(9 * SECOND, "/a"))));
      feed(
          pipeline,
          monitor.batch(
              11 * SECOND, List.of(get(10 * SECOND, "/b"), get(11 * SECOND + HOUR, "/b"))));
      feed(pipeline, monitor.batch(12 * SECOND, List.of(get(11 * SECOND, "/c"))));
      feed(pipeline, monitor.end(12 * SECOND));
      assertThat(Oracle.actual(pipeline.windows(0)))
          .containsExactly(
              "[9000000000,10000000000)\n  [/a] = 1", "[11000000000,12000000000)\n  [/c] = 1");
      assertThat(pipeline.dropped("far_future")).isEqualTo(2);
      assertThat(pipeline.totals()).containsEntry("tuples", "2").containsEntry("tuples_in", "4");
    }
  }

  @Test
  void aClockThatJumpsAnHourAndBackIsReportedAndItsLossesAreCounted() throws Exception {
    try (Pipeline pipeline = pipeline(Plans.topK(3, "1s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      feed(pipeline, monitor.batch(2 * SECOND, List.of(get(SECOND, "/a"))));
      feed(pipeline, monitor.batch(HOUR + 2 * SECOND, List.of(get(HOUR + SECOND, "/a"))));
      feed(pipeline, monitor.batch(3 * SECOND, List.of(get(2 * SECOND, "/late"))));
      feed(pipeline, monitor.batch(HOUR + 3 * SECOND, List.of(get(HOUR + 2 * SECOND, "/b"))));
      feed(pipeline, monitor.end(HOUR + 3 * SECOND));
      assertThat(Oracle.actual(pipeline.windows(0)))
          .containsExactly(
              "[1000000000,2000000000)\n  [/a] = 1",
              "[3601000000000,3602000000000)\n  [/a] = 1",
              "[3602000000000,3603000000000)\n  [/b] = 1");
      assertThat(pipeline.totals()).containsEntry("late", "1").containsEntry("clock_steps", "1");
      JsonNode completeness = pipeline.windows(0).get(2).get("completeness");
      assertThat(completeness.get("clock_steps").asLong()).isEqualTo(1);
      assertThat(completeness.get("late").asLong()).isEqualTo(1);
    }
  }

  /**
   * Tests numbers that would otherwise make every later batch look like a duplicate, or close all
   * windows.
   */
  @Test
  void impossibleNumbersAreIgnored() throws Exception {
    try (Pipeline pipeline = pipeline(Plans.topK(3, "1s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      TupleBatch first = monitor.batch(SECOND, List.of(get(1, "/a")));
      feed(pipeline, first.toBuilder().setSequence(-2).build());
      feed(pipeline, first.toBuilder().setWatermarkNs(Long.MAX_VALUE).build());
      feed(pipeline, first);
      feed(pipeline, monitor.end(SECOND));
      assertThat(Oracle.actual(pipeline.windows(0))).containsExactly("[0,1000000000)\n  [/a] = 1");
      assertThat(pipeline.dropped("malformed_batch")).isEqualTo(2);
      assertThat(pipeline.totals()).containsEntry("duplicates", "0");
    }
  }

  /**
   * Tests valid batches that were truncated or have corrupted bytes. The job must neither fail nor
   * hang.
   */
  @Test
  void noDamageToARecordStopsTheJob() throws Exception {
    String processors =
        String.join(
            ",",
            Plans.topK(3, "1s", "1s"),
            Plans.group("DISTRIBUTION", "\"dst_ip\"", "\"slide\":\"5s\""),
            Plans.join("AVG", "\"size\":\"2s\",\"slide\":\"1s\""));
    List<byte[]> records = new Workload("q", 1, 10, 40, 7).partitions.get(0);
    long malformed = 0;
    for (int seed = 0; seed < 20; seed++) {
      Random random = new Random(seed);
      try (Pipeline pipeline = pipeline(processors)) {
        for (int i = 0; i < 150; i++) {
          byte[] record = records.get(random.nextInt(records.size() - 1));
          pipeline.feed(0, random.nextInt(3) == 0 ? record : damaged(record.clone(), random));
        }
        pipeline.restart(2);
        // This stream is newer than all epochs and incarnations in damaged records.
        MonitorStream last = new MonitorStream("q", "m0", 0, 1).epoch(-1);
        TupleBatch end = last.end(1L << 60).toBuilder().setIncarnation(-1).build();
        feed(pipeline, end);
        malformed += pipeline.dropped("malformed_batch");
      }
    }
    assertThat(malformed).isGreaterThan(500);
  }

  private static byte[] damaged(byte[] record, Random random) {
    switch (random.nextInt(4)) {
      case 0 -> {
        return java.util.Arrays.copyOf(record, random.nextInt(record.length));
      }
      case 1 -> random.nextBytes(record);
      default -> {
        for (int changes = 1 + random.nextInt(4); changes > 0; changes--) {
          record[random.nextInt(record.length)] = (byte) random.nextInt(256);
        }
      }
    }
    return record;
  }

  private static void feed(Pipeline pipeline, TupleBatch batch) throws Exception {
    pipeline.feed(0, batch.toByteArray());
  }

  private static Pipeline pipeline(String processors) throws Exception {
    return new Pipeline(Plans.plan("q", 1, processors), JobOptions.defaults());
  }

  private static Tuple get(long timeNs, String url) {
    return Tuple.http(timeNs, timeNs, url, 0);
  }
}
