package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.flink.ingest.Pipeline;
import io.tapline.flink.support.MonitorStream;
import io.tapline.flink.support.Oracle;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Tuple;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.Dropped;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.TupleBatch;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Feeds the operators record by record and tests each kind of loss separately. */
class OperatorsTest {
  private static final long SECOND = 1_000_000_000L;

  @Test
  void tuplesOfAClosedWindowAreCountedAsLate() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "2s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      pipeline.feed(0, bytes(monitor.batch(10 * SECOND, List.of(get(5 * SECOND, "/a")))));
      pipeline.feed(
          0,
          bytes(
              monitor.batch(
                  10 * SECOND, List.of(get(6 * SECOND, "/late"), get(11 * SECOND, "/b")))));
      pipeline.feed(0, bytes(monitor.end(12 * SECOND)));
      assertThat(Oracle.actual(pipeline.windows(0)))
          .containsExactly(
              "[4000000000,6000000000)\n  [/a] = 1", "[5000000000,7000000000)\n  [/a] = 1",
              "[10000000000,12000000000)\n  [/b] = 1",
                  "[11000000000,13000000000) partial\n  [/b] = 1");
      List<Long> late = new ArrayList<>();
      pipeline.windows(0).forEach(w -> late.add(w.get("completeness").get("late").asLong()));
      assertThat(late)
          .as("counted in the windows that were open when the tuple arrived")
          .containsExactly(0L, 0L, 1L, 0L);
      assertThat(pipeline.totals()).containsEntry("late", "1").containsEntry("tuples", "3");
    }
  }

  @Test
  void windowsWaitForAMonitorThatHasNotReported() throws Exception {
    try (Pipeline pipeline = pipeline(2, Plans.topK(3, "1s", "1s"))) {
      MonitorStream stream = new MonitorStream("q", "m0", 0, 1);
      MonitorStream silentStream = new MonitorStream("q", "m1", 0, 1);
      pipeline.feed(0, bytes(stream.batch(50 * SECOND, List.of(get(5 * SECOND, "/a")))));
      pipeline.feed(0, bytes(stream.end(60 * SECOND)));
      assertThat(pipeline.windows(0)).isEmpty();
      pipeline.feed(1, bytes(silentStream.batch(6 * SECOND, List.of(get(5 * SECOND, "/a")))));
      assertThat(Oracle.actual(pipeline.windows(0)))
          .containsExactly("[5000000000,6000000000)\n  [/a] = 2");
    }
  }

  @Test
  void aStreamEndsWhenAllItsLanesHaveEnded() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      MonitorStream first = new MonitorStream("q", "m0", 0, 1);
      MonitorStream second = new MonitorStream("q", "m0", 1, 1);
      pipeline.feed(0, bytes(second.batch(1, List.of())));
      pipeline.feed(0, bytes(first.batch(SECOND, List.of(get(0, "/a")))));
      pipeline.feed(0, bytes(first.end(2 * SECOND)));
      assertThat(pipeline.ended(0)).isFalse();
      assertThat(pipeline.windows(0)).isEmpty();
      pipeline.restart(1);
      pipeline.feed(0, bytes(second.end(2 * SECOND)));
      assertThat(pipeline.ended(0)).isTrue();
      assertThat(pipeline.windows(0)).hasSize(1);
    }
  }

  @Test
  void batchesOfAnOlderEpochAreFenced() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      MonitorStream oldStream = new MonitorStream("q", "m0", 0, 1);
      MonitorStream now = new MonitorStream("q", "m0", 0, 1).restart().epoch(2);
      pipeline.feed(0, bytes(oldStream.batch(0, List.of(get(1, "/a")))));
      pipeline.feed(0, bytes(now.batch(0, List.of(get(2, "/a")))));
      pipeline.feed(0, bytes(oldStream.batch(0, List.of(get(3, "/a")))));
      pipeline.feed(0, bytes(oldStream.end(3)));
      assertThat(pipeline.ended(0)).isFalse();
      pipeline.feed(0, bytes(now.end(SECOND)));
      assertThat(Oracle.actual(pipeline.windows(0))).containsExactly("[0,1000000000)\n  [/a] = 2");
      assertThat(pipeline.dropped("superseded_batch")).isEqualTo(2);
    }
  }

  @Test
  void aRestartedMonitorContinuesAndMissingBatchesAreCounted() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      pipeline.feed(0, bytes(monitor.batch(0, List.of(get(1, "/a")))));
      monitor.lose();
      monitor.lose();
      pipeline.feed(0, bytes(monitor.batch(0, List.of(get(2, "/a")))));
      monitor.restart();
      pipeline.feed(0, bytes(monitor.batch(0, List.of(get(3, "/a")))));
      pipeline.feed(0, bytes(monitor.end(SECOND)));
      assertThat(Oracle.actual(pipeline.windows(0))).containsExactly("[0,1000000000)\n  [/a] = 3");
      assertThat(pipeline.dropped("missing_batch")).isEqualTo(2);
      assertThat(pipeline.totals()).containsEntry("duplicates", "0");
    }
  }

  /**
   * Tests a monitor that was killed after its second batch had arrived without an acknowledgement,
   * and before its third arrived. The next incarnation reports both, and one that was never sent,
   * on behalf of the dead incarnation and with its sequence numbers.
   */
  @Test
  void lossesOfADeadMonitorAreCountedOnce() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      pipeline.feed(0, bytes(monitor.batch(0, List.of(get(1, "/a")))));
      TupleBatch arrived = monitor.batch(0, List.of(get(2, "/a")));
      TupleBatch lostBatch = monitor.batch(0, List.of(get(3, "/a"), get(4, "/a")));
      TupleBatch unsent = monitor.batch(0, List.of(get(5, "/a")));
      pipeline.feed(0, bytes(arrived));
      for (TupleBatch batch : List.of(arrived, lostBatch, unsent)) {
        pipeline.feed(0, bytes(owed(batch)));
        pipeline.restart(1);
      }
      monitor.restart();
      pipeline.feed(0, bytes(monitor.batch(0, List.of(get(6, "/a")))));
      pipeline.feed(0, bytes(lostBatch));
      assertThat(pipeline.ended(0)).isFalse();
      pipeline.feed(0, bytes(monitor.end(SECOND)));
      assertThat(pipeline.ended(0)).isTrue();
      assertThat(Oracle.actual(pipeline.windows(0))).containsExactly("[0,1000000000)\n  [/a] = 3");
      JsonNode dropped = last(pipeline, 0).get("completeness").get("dropped");
      assertThat(dropped.get("monitor_restarted_tuples").asLong()).isEqualTo(3);
      assertThat(dropped.has("missing_batch")).isFalse();
      assertThat(pipeline.totals())
          .containsEntry("tuples", "3")
          .containsEntry("duplicates", "2")
          .containsEntry("packets_in", "66");
    }
  }

  /**
   * Returns the batch that a monitor's next incarnation sends in place of one that may not have
   * arrived.
   */
  private static TupleBatch owed(TupleBatch batch) {
    Dropped tuples =
        Dropped.newBuilder()
            .setReason("monitor_restarted_tuples")
            .setUnit(Dropped.Unit.TUPLES)
            .setCount(batch.getRows())
            .build();
    return batch.toBuilder()
        .clearColumns()
        .setRows(0)
        .setAccounting(batch.getAccounting().toBuilder().addDropped(tuples))
        .build();
  }

  @Test
  void onlyTheHeaderOfAContradictoryBatchCounts() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(3, "1s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      TupleBatch goodBatch = monitor.batch(0, List.of(get(1, "/a")));
      int url =
          IntStream.range(0, goodBatch.getColumnsCount())
              .filter(i -> goodBatch.getColumns(i).getName().equals("url"))
              .findFirst()
              .orElseThrow();
      Column wrong = goodBatch.getColumns(url).toBuilder().setBase(7).build();
      pipeline.feed(0, bytes(goodBatch.toBuilder().setColumns(url, wrong).build()));
      pipeline.feed(
          0, bytes(monitor.batch(0, List.of(get(2, "/b"))).toBuilder().removeColumns(url).build()));
      pipeline.feed(0, bytes(monitor.batch(0, List.of(get(-5, "/b")))));
      pipeline.feed(0, bytes(monitor.batch(0, List.of(get(3, "/c")))));
      pipeline.feed(0, bytes(monitor.end(SECOND)));
      assertThat(Oracle.actual(pipeline.windows(0))).containsExactly("[0,1000000000)\n  [/c] = 1");
      assertThat(pipeline.dropped("malformed_batch")).isEqualTo(3);
      assertThat(pipeline.totals()).containsEntry("tuples", "1").containsEntry("packets_in", "44");
    }
  }

  @Test
  void eachSnapshotOfAWholeQueryCountsItsOwnOmittedRows() throws Exception {
    Plan plan = Plans.plan("q", 1, Plans.group("COUNT", "\"url\"", "\"slide\":\"1s\""));
    try (Pipeline pipeline = new Pipeline(plan, JobOptions.defaults().withBounds(1000, 10, 20))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      for (int second = 0; second < 4; second++) {
        long begin = second * SECOND;
        List<Tuple> tuples = IntStream.range(0, 50).mapToObj(i -> get(begin + i, "/" + i)).toList();
        pipeline.feed(0, bytes(monitor.batch(begin, tuples)));
      }
      pipeline.feed(0, bytes(monitor.end(4 * SECOND)));
      assertThat(pipeline.windows(0)).hasSizeGreaterThan(2);
      JsonNode completeness = last(pipeline, 0).get("completeness");
      assertThat(completeness.at("/dropped/rows_omitted").asLong()).isEqualTo(30);
      assertThat(pipeline.dropped("rows_omitted")).isEqualTo(30);
    }
  }

  @Test
  void groupsAndRowsBeyondTheBoundsAreCounted() throws Exception {
    Plan plan =
        Plans.plan("q", 1, Plans.group("COUNT", "\"url\"", "\"size\":\"1s\",\"slide\":\"1s\""));
    try (Pipeline pipeline = new Pipeline(plan, JobOptions.defaults().withBounds(32, 10, 20))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      List<Tuple> tuples = IntStream.range(0, 1000).mapToObj(i -> get(i, "/" + i)).toList();
      pipeline.feed(0, bytes(monitor.batch(0, tuples)));
      pipeline.feed(0, bytes(monitor.end(SECOND)));
      int rows = last(pipeline, 0).get("rows").size();
      assertThat(rows).isEqualTo(20);
      assertThat(pipeline.dropped("key_overflow") + pipeline.dropped("rows_omitted"))
          .isEqualTo(980);
      assertThat(pipeline.dropped("key_overflow")).isEqualTo(1000 - 32);
    }
  }

  @Test
  void openConnectionsBeyondTheBoundAreDroppedAndCounted() throws Exception {
    Plan plan = Plans.plan("q", 1, Plans.diff("COUNT", "", "\"slide\":\"1s\""));
    try (Pipeline pipeline = new Pipeline(plan, JobOptions.defaults().withBounds(1000, 10, 20))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      List<Tuple> tuples = new ArrayList<>();
      IntStream.range(0, 100).forEach(i -> tuples.add(Tuple.event(i, i, "syn")));
      pipeline.feed(0, bytes(monitor.batch(0, List.copyOf(tuples))));
      pipeline.feed(
          0,
          bytes(
              monitor.batch(0, List.of(Tuple.event(200, 1, "fin"), Tuple.event(201, 99, "fin")))));
      pipeline.feed(0, bytes(monitor.end(SECOND)));
      assertThat(last(pipeline, 0).get("rows").get(0).get("value").asLong()).isEqualTo(1);
      assertThat(pipeline.dropped("flow_state_full")).isEqualTo(90);
      assertThat(pipeline.dropped("without_start")).isEqualTo(1);
      assertThat(pipeline.dropped("without_end")).isEqualTo(9);
    }
  }

  @Test
  void exemplarsAreTheEarliestFlowsOfTheFirstPanes() throws Exception {
    try (Pipeline pipeline = pipeline(1, Plans.topK(1, "10s", "1s"))) {
      MonitorStream monitor = new MonitorStream("q", "m0", 0, 1);
      for (int second = 1; second < 6; second++) {
        List<Tuple> two =
            List.of(
                Tuple.http(second * SECOND, 2 * second, "/a", 7),
                Tuple.http(second * SECOND + 5, 2 * second + 1, "/a", 7));
        pipeline.feed(0, bytes(monitor.batch((second + 1) * SECOND, two)));
      }
      pipeline.feed(0, bytes(monitor.end(6 * SECOND)));
      JsonNode exemplars = pipeline.windows(0).get(4).get("rows").get(0).get("exemplars");
      assertThat(exemplars.findValuesAsText("flow_id"))
          .containsExactly(
              "0000000000000002-00000007",
              "0000000000000004-00000007",
              "0000000000000006-00000007");
      assertThat(exemplars.get(0).toString())
          .isEqualTo(
              "{\"flow_id\":\"0000000000000002-00000007\",\"src_ip\":\"10.0.0.1\",\"src_port\":1026,\"dst_ip\":\"10.0.1.2\","
                  + "\"dst_port\":80,\"start_ns\":999999993,\"end_ns\":1000000000,\"monitor\":\"m0\"}");
    }
  }

  private static Pipeline pipeline(int monitors, String processors) throws Exception {
    return new Pipeline(Plans.plan("q", monitors, processors), JobOptions.defaults());
  }

  private static Tuple get(long timeNs, String url) {
    return Tuple.http(timeNs, timeNs, url, 0);
  }

  private static JsonNode last(Pipeline pipeline, int processor) {
    List<JsonNode> windows = pipeline.windows(processor);
    return windows.get(windows.size() - 1);
  }

  private static byte[] bytes(TupleBatch batch) {
    return batch.toByteArray();
  }
}
