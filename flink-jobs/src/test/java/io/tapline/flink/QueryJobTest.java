package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.flink.support.Deadline;
import io.tapline.flink.support.JobCluster;
import io.tapline.flink.support.JobRun;
import io.tapline.flink.support.MonitorStream;
import io.tapline.flink.support.Oracle;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Tuple;
import io.tapline.flink.support.Workload;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.TupleBatch;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.flink.api.common.JobID;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** Tests the whole job in a mini cluster, with a real broker and a real Redis server. */
class QueryJobTest {
  static final String PROCESSORS =
      String.join(
          ",",
          Plans.topK(5, "10s", "1s"),
          Plans.group("SUM", "\"dst_ip\"", "\"size\":\"6s\",\"slide\":\"4s\""),
          Plans.group("MAX", "\"url\",\"dst_ip\"", "\"size\":\"5s\",\"slide\":\"5s\""),
          Plans.group("AVG", "", "\"slide\":\"10s\""),
          Plans.diff("DISTRIBUTION", "\"dst_ip\"", "\"slide\":\"10s\""),
          Plans.join("AVG", "\"size\":\"10s\",\"slide\":\"2s\""));

  @TempDir static Path directory;
  private static JobCluster jobs;

  @BeforeAll
  static void start() throws Exception {
    jobs = new JobCluster(directory);
  }

  @AfterAll
  static void stop() throws Exception {
    jobs.close();
  }

  @AfterEach
  void cancelAll() throws Exception {
    jobs.cancelAll();
  }

  @Test
  void resultsEqualThoseOfThePlainEvaluatorAndARepeatOfTheWholeJobChangesNothing()
      throws Exception {
    Plan plan = Plans.plan("q-plain", 3, PROCESSORS);
    Workload workload = new Workload("q-plain", 3, 40, 1000, 1);
    jobs.send(plan, workload);
    jobs.await(jobs.submit(plan, JobOptions.defaults().withParallelism(2)));
    assertEqualsPlain(plan, workload);
    assertAccounting(plan, workload);

    Map<String, String> previousKeys = everything();
    jobs.await(jobs.submit(plan, JobOptions.defaults().withParallelism(1).withRestartAttempts(0)));
    assertThat(everything()).isEqualTo(previousKeys);
  }

  @Test
  void aKilledTaskManagerChangesNoResultAndTheJobStillEnds() throws Exception {
    Plan plan = Plans.plan("q-killed", 2, PROCESSORS);
    Workload workload = new Workload("q-killed", 2, 40, 800, 2);
    jobs.kafka.createTopic(plan.getTopic(), 2);
    String checkpoints = directory.resolve("checkpoints").toUri().toString();
    JobOptions options =
        JobOptions.defaults()
            .withParallelism(3)
            .withCheckpoints(Duration.ofMillis(100), checkpoints);
    // The first monitor ends before the failure, and a restored source must remember this.
    jobs.send(plan, 0, workload.partitions.get(0));
    List<byte[]> second = workload.partitions.get(1);
    jobs.send(plan, 1, second.subList(0, second.size() / 2));
    JobID id = jobs.submit(plan, options);
    jobs.awaitWindows(plan, 3);
    jobs.awaitCheckpoint(id);

    jobs.cluster.terminateTaskManager(0).get();
    jobs.cluster.startTaskManager();
    jobs.send(plan, 1, second.subList(second.size() / 2, second.size()));
    jobs.await(id);
    assertThat(jobs.restoredCheckpoints(id)).isEqualTo(1);
    assertEqualsPlain(plan, workload);
    assertAccounting(plan, workload);
  }

  /** Tests a query whose second monitor sends nothing until the end. */
  @Test
  void windowsDoNotWaitForASilentMonitor() throws Exception {
    Plan plan = Plans.plan("q-silent", 2, Plans.topK(3, "1s", "1s"));
    jobs.kafka.createTopic(plan.getTopic(), 2);
    JobOptions options =
        JobOptions.defaults().withParallelism(2).withSilentAfter(Duration.ofMillis(400));
    MonitorStream talks = new MonitorStream("q-silent", "m0", 0, 1);
    Tuple get = Tuple.http(500_000_000L, 1, "/a", 1);
    jobs.send(plan, 0, List.of(talks.batch(3_000_000_000L, List.of(get)).toByteArray()));
    JobID id = jobs.submit(plan, options);
    try (Jedis jedis = jobs.redis.client()) {
      Deadline.await(
          "a window without the silent monitor",
          () -> {
            jobs.send(plan, 0, List.of(talks.batch(3_000_000_000L, List.of()).toByteArray()));
            return jedis.xlen("tapline:query:q-silent:windows") == 1;
          });
    }
    jobs.send(plan, 0, List.of(talks.end(4_000_000_000L).toByteArray()));
    MonitorStream lateStream = new MonitorStream("q-silent", "m1", 0, 1);
    jobs.send(plan, 1, List.of(lateStream.batch(3_000_000_000L, List.of(get)).toByteArray()));
    jobs.send(plan, 1, List.of(lateStream.end(4_000_000_000L).toByteArray()));
    jobs.await(id);
    try (Jedis jedis = jobs.redis.client()) {
      List<JsonNode> windows = JobRun.windows(jedis, "q-silent", 0);
      assertThat(windows).hasSize(1);
      assertThat(windows.get(0).at("/completeness/silent").toString()).isEqualTo("[\"m1\"]");
      assertThat(jedis.hget("tapline:query:q-silent:totals", "late")).isEqualTo("1");
    }
  }

  /**
   * Tests a job whose parallelism is increased, then decreased, while tuples arrive, as a cluster
   * operator would do it.
   */
  @Test
  void parallelismChangedFromASavepointChangesNoResultAndTheJobStillEnds() throws Exception {
    Plan plan = Plans.plan("q-rescaled", 2, PROCESSORS);
    Workload workload = new Workload("q-rescaled", 2, 40, 600, 4);
    jobs.kafka.createTopic(plan.getTopic(), 2);
    SavepointRestoreSettings restored = SavepointRestoreSettings.none();
    int part = 0;
    for (int parallelism : new int[] {1, 3}) {
      for (int partition = 0; partition < 2; partition++) {
        List<byte[]> records = workload.partitions.get(partition);
        int third = records.size() / 3;
        jobs.send(plan, partition, records.subList(part * third, (part + 1) * third));
      }
      part++;
      JobID id = jobs.submit(plan, JobOptions.defaults().withParallelism(parallelism), restored);
      jobs.awaitWindows(plan, 3 * part);
      jobs.awaitCheckpoint(id);
      String savepoint =
          jobs.cluster
              .stopWithSavepoint(
                  id,
                  directory.resolve("savepoints").toUri().toString(),
                  false,
                  SavepointFormatType.CANONICAL)
              .get(60, TimeUnit.SECONDS);
      restored = SavepointRestoreSettings.forPath(savepoint);
    }
    for (int partition = 0; partition < 2; partition++) {
      List<byte[]> records = workload.partitions.get(partition);
      jobs.send(plan, partition, records.subList(part * (records.size() / 3), records.size()));
    }
    jobs.await(jobs.submit(plan, JobOptions.defaults().withParallelism(2), restored));
    assertEqualsPlain(plan, workload);
    assertAccounting(plan, workload);
  }

  @Test
  void foreignAndDamagedRecordsAreCountedAndChangeNothing() throws Exception {
    Plan plan = Plans.plan("q-damaged", 1, Plans.topK(10, "10s", "10s"));
    Workload workload = new Workload("q-damaged", 1, 30, 300, 3);
    jobs.kafka.createTopic(plan.getTopic(), 1);
    MonitorStream stranger = new MonitorStream("q-damaged", "stranger", 0, 1);
    MonitorStream otherQuery = new MonitorStream("q-other", "m0", 0, 1);
    jobs.kafka.send(plan.getTopic(), 0, "GET / HTTP/1.1".getBytes(StandardCharsets.UTF_8));
    jobs.kafka.send(plan.getTopic(), 0, TupleBatch.newBuilder().setFormat(9).build().toByteArray());
    jobs.kafka.send(plan.getTopic(), 0, stranger.end(1).toByteArray());
    jobs.kafka.send(plan.getTopic(), 0, otherQuery.end(1).toByteArray());
    jobs.send(plan, 0, workload.partitions.get(0));
    jobs.await(jobs.submit(plan, JobOptions.defaults()));

    assertEqualsPlain(plan, workload);
    assertThat(jobs.dropped(plan, "malformed_batch")).isEqualTo(1);
    assertThat(jobs.dropped(plan, "unknown_format")).isEqualTo(1);
    assertThat(jobs.dropped(plan, "foreign_batch")).isEqualTo(2);
  }

  @Test
  void batchesThatKafkaDeletedUnreadAreCounted() throws Exception {
    Plan plan = Plans.plan("q-deleted", 1, Plans.topK(10, "1s", "1s"));
    jobs.kafka.createTopic(plan.getTopic(), 1);
    MonitorStream monitor = new MonitorStream("q-deleted", "m0", 0, 1);
    long second = 1_000_000_000L;
    for (int i = 1; i <= 10; i++) {
      List<Tuple> one = List.of(Tuple.http(i * second, i, "/a", 0));
      jobs.kafka.send(plan.getTopic(), 0, monitor.batch(i * second, one).toByteArray());
    }
    jobs.kafka.send(plan.getTopic(), 0, monitor.end(11 * second).toByteArray());
    jobs.kafka.deleteBefore(plan.getTopic(), 0, 4);
    jobs.await(jobs.submit(plan, JobOptions.defaults()));
    assertThat(jobs.totals(plan)).containsEntry("tuples", "6");
    assertThat(jobs.dropped(plan, "missing_batch")).isEqualTo(4);
    try (Jedis jedis = jobs.redis.client()) {
      JsonNode first = JobRun.windows(jedis, "q-deleted", 0).get(0);
      assertThat(first.get("start").asLong()).isEqualTo(5 * second);
      assertThat(first.at("/completeness/dropped/missing_batch").asLong()).isEqualTo(4);
    }
  }

  private static void assertEqualsPlain(Plan plan, Workload workload) throws Exception {
    try (Jedis jedis = jobs.redis.client()) {
      for (int i = 0; i < plan.getProcessorsCount(); i++) {
        Oracle oracle = new Oracle(plan, i, workload.tuples, workload.endsNs);
        List<JsonNode> windows = JobRun.windows(jedis, plan.getQuery(), i);
        assertThat(Oracle.actual(windows)).as("processor " + i).isEqualTo(oracle.windows());
        if (plan.getProcessors(i).hasJoin()) {
          assertThat(jobs.totals(plan)).containsEntry("reused", Long.toString(oracle.reused));
          assertThat(jobs.dropped(plan, "unjoined")).isEqualTo(oracle.unjoined);
        }
      }
    }
  }

  private static void assertAccounting(Plan plan, Workload workload) throws Exception {
    Map<String, String> totals = jobs.totals(plan);
    int tuples = workload.tuples.size();
    assertThat(totals)
        .containsEntry("packets_in", Long.toString(11L * tuples))
        .containsEntry("packets_out", Long.toString(10L * tuples))
        .containsEntry("bytes_in", Long.toString(100L * tuples))
        .containsEntry("tuples_in", Integer.toString(tuples))
        .containsEntry("tuples", Integer.toString(tuples))
        .containsEntry("duplicates", Long.toString(workload.repeats))
        .containsEntry("late", "0")
        .containsEntry("sampling_rate", "1.0");
    assertThat(jobs.dropped(plan, "nic_missed")).isEqualTo(tuples);
  }

  /** Returns all keys of the Redis server with their contents. */
  private static Map<String, String> everything() {
    try (Jedis jedis = jobs.redis.client()) {
      return jedis.keys("*").stream()
          .collect(Collectors.toMap(key -> key, key -> Arrays.toString(jedis.dump(key))));
    }
  }
}
