package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import io.tapline.flink.job.QueryJob;
import io.tapline.flink.support.Deadline;
import io.tapline.flink.support.EmbeddedKafka;
import io.tapline.flink.support.FreePort;
import io.tapline.flink.support.JobRun;
import io.tapline.flink.support.MonitorStream;
import io.tapline.flink.support.Oracle;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.RedisServer;
import io.tapline.flink.support.Tuple;
import io.tapline.flink.support.Workload;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.TupleBatch;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.flink.api.common.JobID;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointStatsCounts;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** Tests the whole job between a real broker and a real Redis, in a mini cluster. */
class QueryJobTest {
  @TempDir static Path directory;
  private static EmbeddedKafka kafka;
  private static RedisServer redis;
  private static MiniCluster cluster;

  @BeforeAll
  static void start() throws Exception {
    kafka = new EmbeddedKafka(directory.resolve("kafka"));
    redis = new RedisServer();
    cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(4)
                .withRandomPorts()
                .build());
    cluster.start();
  }

  @AfterAll
  static void stop() throws Exception {
    cluster.close();
    redis.close();
    kafka.close();
  }

  static final String PROCESSORS =
      String.join(
          ",",
          Plans.topK(5, "10s", "1s"),
          Plans.group("SUM", "\"dst_ip\"", "\"size\":\"6s\",\"slide\":\"4s\""),
          Plans.group("MAX", "\"url\",\"dst_ip\"", "\"size\":\"5s\",\"slide\":\"5s\""),
          Plans.group("AVG", "", "\"slide\":\"10s\""),
          Plans.diff("DISTRIBUTION", "\"dst_ip\"", "\"slide\":\"10s\""),
          Plans.join("AVG", "\"size\":\"10s\",\"slide\":\"2s\""));

  /** Frees the slots of a failed test for the next. */
  @AfterEach
  void cancelAll() throws Exception {
    for (var job : cluster.listJobs().get()) {
      if (!job.getJobState().isGloballyTerminalState()) {
        cluster.cancelJob(job.getJobId()).get();
        cluster.requestJobResult(job.getJobId()).get(30, TimeUnit.SECONDS);
      }
    }
  }

  @Test
  void resultsEqualThoseOfThePlainEvaluatorAndARepeatOfTheWholeJobChangesNothing()
      throws Exception {
    Plan plan = Plans.plan("q-plain", 3, PROCESSORS);
    Workload workload = new Workload("q-plain", 3, 40, 1000, 1);
    send(plan, workload);
    await(submit(plan, JobOptions.defaults().withParallelism(2)));
    assertEqualsPlain(plan, workload);
    assertAccounting(plan, workload);

    Map<String, String> before = everything();
    await(submit(plan, JobOptions.defaults().withParallelism(1).withRestartAttempts(0)));
    assertThat(everything()).isEqualTo(before);
  }

  @Test
  void aKilledTaskManagerChangesNoResultAndTheJobStillEnds() throws Exception {
    Plan plan = Plans.plan("q-killed", 2, PROCESSORS);
    Workload workload = new Workload("q-killed", 2, 40, 800, 2);
    kafka.createTopic(plan.getTopic(), 2);
    String checkpoints = directory.resolve("checkpoints").toUri().toString();
    JobOptions options =
        JobOptions.defaults()
            .withParallelism(3)
            .withCheckpoints(Duration.ofMillis(100), checkpoints);
    // The first monitor ends before the failure: a restored source must remember that.
    send(plan, 0, workload.partitions.get(0));
    List<byte[]> second = workload.partitions.get(1);
    send(plan, 1, second.subList(0, second.size() / 2));
    JobID id = submit(plan, options);
    awaitWindows(plan, 3);
    awaitCheckpoint(id);

    cluster.terminateTaskManager(0).get();
    cluster.startTaskManager();
    send(plan, 1, second.subList(second.size() / 2, second.size()));
    await(id);
    assertThat(restoredCheckpoints(id)).isEqualTo(1);
    assertEqualsPlain(plan, workload);
    assertAccounting(plan, workload);
  }

  /** The second monitor sends nothing until the end. */
  @Test
  void windowsDoNotWaitForASilentMonitor() throws Exception {
    Plan plan = Plans.plan("q-silent", 2, Plans.topK(3, "1s", "1s"));
    kafka.createTopic(plan.getTopic(), 2);
    JobOptions options =
        JobOptions.defaults().withParallelism(2).withSilentAfter(Duration.ofMillis(400));
    MonitorStream talks = new MonitorStream("q-silent", "m0", 0, 1);
    Tuple get = Tuple.http(500_000_000L, 1, "/a", 1);
    send(plan, 0, List.of(talks.batch(3_000_000_000L, List.of(get)).toByteArray()));
    JobID id = submit(plan, options);
    try (Jedis jedis = redis.client()) {
      Deadline.await(
          "a window without it",
          () -> {
            send(plan, 0, List.of(talks.batch(3_000_000_000L, List.of()).toByteArray()));
            return jedis.xlen("tapline:query:q-silent:windows") == 1;
          });
    }
    send(plan, 0, List.of(talks.end(4_000_000_000L).toByteArray()));
    MonitorStream late = new MonitorStream("q-silent", "m1", 0, 1);
    send(plan, 1, List.of(late.batch(3_000_000_000L, List.of(get)).toByteArray()));
    send(plan, 1, List.of(late.end(4_000_000_000L).toByteArray()));
    await(id);
    try (Jedis jedis = redis.client()) {
      List<JsonNode> windows = JobRun.windows(jedis, "q-silent", 0);
      assertThat(windows).hasSize(1);
      assertThat(windows.get(0).at("/completeness/silent").toString()).isEqualTo("[\"m1\"]");
      assertThat(jedis.hget("tapline:query:q-silent:totals", "late")).isEqualTo("1");
    }
  }

  /**
   * Changes the parallelism like an operator of the cluster, while tuples arrive: more subtasks,
   * then fewer.
   */
  @Test
  void parallelismChangedFromASavepointChangesNoResultAndTheJobStillEnds() throws Exception {
    Plan plan = Plans.plan("q-rescaled", 2, PROCESSORS);
    Workload workload = new Workload("q-rescaled", 2, 40, 600, 4);
    kafka.createTopic(plan.getTopic(), 2);
    SavepointRestoreSettings from = SavepointRestoreSettings.none();
    int part = 0;
    for (int parallelism : new int[] {1, 3}) {
      for (int partition = 0; partition < 2; partition++) {
        List<byte[]> records = workload.partitions.get(partition);
        int third = records.size() / 3;
        send(plan, partition, records.subList(part * third, (part + 1) * third));
      }
      part++;
      JobID id = submit(plan, JobOptions.defaults().withParallelism(parallelism), from);
      awaitWindows(plan, 3 * part);
      awaitCheckpoint(id);
      String savepoint =
          cluster
              .stopWithSavepoint(
                  id,
                  directory.resolve("savepoints").toUri().toString(),
                  false,
                  SavepointFormatType.CANONICAL)
              .get(60, TimeUnit.SECONDS);
      from = SavepointRestoreSettings.forPath(savepoint);
    }
    for (int partition = 0; partition < 2; partition++) {
      List<byte[]> records = workload.partitions.get(partition);
      send(plan, partition, records.subList(part * (records.size() / 3), records.size()));
    }
    await(submit(plan, JobOptions.defaults().withParallelism(2), from));
    assertEqualsPlain(plan, workload);
    assertAccounting(plan, workload);
  }

  @Test
  void foreignAndDamagedRecordsAreCountedAndChangeNothing() throws Exception {
    Plan plan = Plans.plan("q-damaged", 1, Plans.topK(10, "10s", "10s"));
    Workload workload = new Workload("q-damaged", 1, 30, 300, 3);
    kafka.createTopic(plan.getTopic(), 1);
    MonitorStream stranger = new MonitorStream("q-damaged", "stranger", 0, 1);
    MonitorStream otherQuery = new MonitorStream("q-other", "m0", 0, 1);
    kafka.send(plan.getTopic(), 0, "GET / HTTP/1.1".getBytes(StandardCharsets.UTF_8));
    kafka.send(plan.getTopic(), 0, TupleBatch.newBuilder().setFormat(9).build().toByteArray());
    kafka.send(plan.getTopic(), 0, stranger.end(1).toByteArray());
    kafka.send(plan.getTopic(), 0, otherQuery.end(1).toByteArray());
    send(plan, 0, workload.partitions.get(0));
    await(submit(plan, JobOptions.defaults()));

    assertEqualsPlain(plan, workload);
    assertThat(dropped(plan, "malformed_batch")).isEqualTo(1);
    assertThat(dropped(plan, "unknown_format")).isEqualTo(1);
    assertThat(dropped(plan, "foreign_batch")).isEqualTo(2);
  }

  @Test
  void batchesThatKafkaDeletedUnreadAreCounted() throws Exception {
    Plan plan = Plans.plan("q-deleted", 1, Plans.topK(10, "1s", "1s"));
    kafka.createTopic(plan.getTopic(), 1);
    MonitorStream monitor = new MonitorStream("q-deleted", "m0", 0, 1);
    long second = 1_000_000_000L;
    for (int i = 1; i <= 10; i++) {
      List<Tuple> one = List.of(Tuple.http(i * second, i, "/a", 0));
      kafka.send(plan.getTopic(), 0, monitor.batch(i * second, one).toByteArray());
    }
    kafka.send(plan.getTopic(), 0, monitor.end(11 * second).toByteArray());
    kafka.deleteBefore(plan.getTopic(), 0, 4);
    await(submit(plan, JobOptions.defaults()));
    assertThat(totals(plan)).containsEntry("tuples", "6");
    assertThat(dropped(plan, "missing_batch")).isEqualTo(4);
    try (Jedis jedis = redis.client()) {
      JsonNode first = JobRun.windows(jedis, "q-deleted", 0).get(0);
      assertThat(first.get("start").asLong()).isEqualTo(5 * second);
      assertThat(first.at("/completeness/dropped/missing_batch").asLong()).isEqualTo(4);
    }
  }

  @Test
  void eachWindowGoesToTheResultsTopicAsALineOfJson() throws Exception {
    Plan plan = Plans.plan("q-topic", 1, Plans.topK(3, "10s", "5s"));
    Workload workload = new Workload("q-topic", 1, 20, 100, 6);
    send(plan, workload);
    kafka.createTopic("results", 1);
    Endpoints endpoints =
        Endpoints.open(kafka.brokers(), "127.0.0.1:" + redis.port()).withResultsTopic("results");
    JobID id = JobID.generate();
    cluster.submitJob(QueryJob.graph(plan, endpoints, JobOptions.defaults(), id)).get();
    await(id);
    try (Jedis jedis = redis.client()) {
      List<JsonNode> windows = JobRun.windows(jedis, "q-topic", 0);
      List<String> lines = kafka.read("results", windows.size());
      assertThat(lines).hasSameSizeAs(windows);
      for (int i = 0; i < lines.size(); i++) {
        JsonNode line = new ObjectMapper().readTree(lines.get(i));
        assertThat(line.get("query").asText()).isEqualTo("q-topic");
        assertThat(line.get("name").asText()).isEqualTo("top-k");
        assertThat(line.get("window_start_ns")).isEqualTo(windows.get(i).get("start"));
        assertThat(line.get("window_end_ns")).isEqualTo(windows.get(i).get("end"));
        assertThat(line.get("rows")).isEqualTo(windows.get(i).get("rows"));
        assertThat(line.get("completeness")).isEqualTo(windows.get(i).get("completeness"));
      }
    }
  }

  @Test
  void anOutageOfRedisIsAwaited() throws Exception {
    Plan plan = Plans.plan("q-outage", 1, Plans.topK(10, "10s", "10s"));
    Workload workload = new Workload("q-outage", 1, 30, 300, 4);
    kafka.createTopic(plan.getTopic(), 1);
    List<byte[]> records = workload.partitions.get(0);
    try (RedisServer own = new RedisServer()) {
      Endpoints endpoints = Endpoints.open(kafka.brokers(), "127.0.0.1:" + own.port());
      JobID id = JobID.generate();
      cluster.submitJob(QueryJob.graph(plan, endpoints, JobOptions.defaults(), id)).get();
      send(plan, 0, records.subList(0, records.size() / 4));
      Deadline.await("the first totals", () -> !own.keys("tapline:*").isEmpty());
      own.kill();
      send(plan, 0, records.subList(records.size() / 4, records.size()));
      own.start();
      await(id);
      try (Jedis jedis = own.client()) {
        List<String> after = Oracle.actual(JobRun.windows(jedis, "q-outage", 0));
        List<String> all = new Oracle(plan, 0, workload.tuples, workload.endsNs).windows();
        assertThat(all).endsWith(after.toArray(String[]::new));
        assertThat(after).hasSizeGreaterThan(1);
      }
    }
  }

  @Test
  void anUnreachableRedisFailsTheJobWithAClearMessage() throws Exception {
    Plan plan = Plans.plan("q-no-redis", 1, Plans.topK(10, "10s", "10s"));
    kafka.createTopic(plan.getTopic(), 1);
    int nobody = FreePort.choose();
    Endpoints endpoints = Endpoints.open(kafka.brokers(), "127.0.0.1:" + nobody);
    JobID id = JobID.generate();
    cluster.submitJob(QueryJob.graph(plan, endpoints, JobOptions.defaults(), id)).get();
    assertThatThrownBy(() -> await(id))
        .hasStackTraceContaining(
            "Redis at 127.0.0.1:"
                + nobody
                + " can't be reached: start it there, or give another address");
  }

  /** A restart would not help, so there is none, and the error names the topic. */
  @Test
  void aDeletedAlertTopicFailsTheJobAndIsNamed() throws Exception {
    kafka.createTopic("alerts.gone", 1);
    String trigger =
        Plans.with(
            Plans.counts("COUNT", "\"url\"", "\"size\":\"0.010s\",\"slide\":\"0.010s\""),
            """
            ,"condition":{},"trigger":{"severity":"info","actions":[{"topic":"alerts.gone"}]}""");
    Plan plan = Plans.plan("q-gone", 1, trigger);
    kafka.createTopic(plan.getTopic(), 1);
    MonitorStream monitor = new MonitorStream("q-gone", "m0", 0, 1);
    long ms = 1_000_000L;
    JobID id = submit(plan, JobOptions.defaults());
    List<Tuple> first = List.of(Tuple.http(1001 * ms, 1, "/a", 0));
    kafka.send(plan.getTopic(), 0, monitor.batch(1015 * ms, first).toByteArray());
    assertThat(kafka.read("alerts.gone", 1)).hasSize(1);
    kafka.deleteTopic("alerts.gone");
    List<Tuple> second = List.of(Tuple.http(1021 * ms, 2, "/b", 0));
    kafka.send(plan.getTopic(), 0, monitor.batch(1035 * ms, second).toByteArray());
    // Shorter than a producer's timeout for such a topic.
    JobResult result = cluster.requestJobResult(id).get(30, TimeUnit.SECONDS);
    Throwable cause =
        result.getSerializedThrowable().orElseThrow().deserializeError(getClass().getClassLoader());
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    assertThat(cause).hasMessage("alerts can't be sent to topic alerts.gone: it no longer exists");
  }

  /** Requests are counted by URL every 10 ms; alerts go to three receivers. */
  @Test
  void alertsReachRedisTheWebhookAndTheTopic() throws Exception {
    List<String> posted = new CopyOnWriteArrayList<>();
    HttpServer receiver = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    receiver.createContext(
        "/",
        exchange -> {
          posted.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
        });
    receiver.start();
    kafka.createTopic("alerts", 1);
    String trigger =
        Plans.with(
            Plans.counts("COUNT", "\"url\"", "\"size\":\"0.010s\",\"slide\":\"0.010s\""),
            """
            ,"condition":{"threshold":2},"trigger":{"clear":2,"severity":"critical","actions":[
              {"webhook":"http://127.0.0.1:%d/","private_addresses":true},{"topic":"alerts"}]}"""
                .formatted(receiver.getAddress().getPort()));
    Plan plan = Plans.plan("q-alerts", 1, trigger);
    kafka.createTopic(plan.getTopic(), 1);
    MonitorStream monitor = new MonitorStream("q-alerts", "m0", 0, 1);
    long ms = 1_000_000L;
    List<Tuple> burst =
        List.of(
            Tuple.http(1001 * ms, 1, "/a", 0),
            Tuple.http(1002 * ms, 2, "/b", 0),
            Tuple.http(1003 * ms, 3, "/a", 0),
            Tuple.http(1004 * ms, 4, "/a", 0));
    kafka.send(plan.getTopic(), 0, monitor.batch(1005 * ms, burst).toByteArray());
    kafka.send(plan.getTopic(), 0, monitor.batch(1015 * ms, List.of()).toByteArray());
    try {
      JobID id = submit(plan, JobOptions.defaults());
      Deadline.await("the alert by webhook", () -> posted.size() == 1);
      try (Jedis jedis = redis.client()) {
        assertThat(jedis.hgetAll("tapline:query:q-alerts:alerts:0")).containsOnlyKeys("/a");
      }
      kafka.send(plan.getTopic(), 0, monitor.end(1050 * ms).toByteArray());
      await(id);
      List<String> states = new ArrayList<>();
      try (Jedis jedis = redis.client()) {
        assertThat(jedis.hgetAll("tapline:query:q-alerts:alerts:0")).isEmpty();
        for (JsonNode window : JobRun.windows(jedis, "q-alerts", 0)) {
          states.add(window.get("end").asLong() / ms + window.at("/rows/0/alert/state").asText());
        }
      }
      assertThat(states).containsExactly("1010raised", "1020cleared");
      assertThat(kafka.read("alerts", 2)).containsAll(posted).hasSize(2);
    } finally {
      receiver.stop(0);
    }
  }

  private static void send(Plan plan, Workload workload) throws Exception {
    // There is one partition more than monitors; the job must not wait for it.
    kafka.createTopic(plan.getTopic(), workload.partitions.size() + 1);
    for (int partition = 0; partition < workload.partitions.size(); partition++) {
      send(plan, partition, workload.partitions.get(partition));
    }
  }

  private static void send(Plan plan, int partition, List<byte[]> records) throws Exception {
    for (byte[] record : records) {
      kafka.send(plan.getTopic(), partition, record);
    }
  }

  private static JobID submit(Plan plan, JobOptions options) throws Exception {
    return submit(plan, options, SavepointRestoreSettings.none());
  }

  private static JobID submit(Plan plan, JobOptions options, SavepointRestoreSettings from)
      throws Exception {
    JobID id = JobID.generate();
    Endpoints endpoints = Endpoints.open(kafka.brokers(), "127.0.0.1:" + redis.port());
    StreamGraph graph = QueryJob.graph(plan, endpoints, options, id);
    graph.setSavepointRestoreSettings(from);
    cluster.submitJob(graph).get();
    return id;
  }

  private static void await(JobID id) throws Exception {
    JobResult result = cluster.requestJobResult(id).get(90, TimeUnit.SECONDS);
    result.toJobExecutionResult(QueryJobTest.class.getClassLoader());
  }

  private static void awaitWindows(Plan plan, int windows) throws Exception {
    try (Jedis jedis = redis.client()) {
      String key = "tapline:query:" + plan.getQuery() + ":windows";
      Deadline.await("the first windows", () -> jedis.xlen(key) >= windows);
    }
  }

  /**
   * Waits for a checkpoint that began after this call and so contains everything read before it.
   */
  private static void awaitCheckpoint(JobID id) throws Exception {
    long before = completedCheckpoints(id);
    Deadline.await("a checkpoint", () -> completedCheckpoints(id) >= before + 2);
  }

  private static long completedCheckpoints(JobID id) throws Exception {
    return checkpointCounts(id).getNumberOfCompletedCheckpoints();
  }

  private static long restoredCheckpoints(JobID id) throws Exception {
    return checkpointCounts(id).getNumberOfRestoredCheckpoints();
  }

  private static CheckpointStatsCounts checkpointCounts(JobID id) throws Exception {
    return cluster.getExecutionGraph(id).get().getCheckpointStatsSnapshot().getCounts();
  }

  private static void assertEqualsPlain(Plan plan, Workload workload) throws Exception {
    try (Jedis jedis = redis.client()) {
      for (int i = 0; i < plan.getProcessorsCount(); i++) {
        Oracle oracle = new Oracle(plan, i, workload.tuples, workload.endsNs);
        List<JsonNode> windows = JobRun.windows(jedis, plan.getQuery(), i);
        assertThat(Oracle.actual(windows)).as("processor " + i).isEqualTo(oracle.windows());
        if (plan.getProcessors(i).hasJoin()) {
          assertThat(totals(plan)).containsEntry("reused", Long.toString(oracle.reused));
          assertThat(dropped(plan, "unjoined")).isEqualTo(oracle.unjoined);
        }
      }
    }
  }

  private static void assertAccounting(Plan plan, Workload workload) throws Exception {
    Map<String, String> totals = totals(plan);
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
    assertThat(dropped(plan, "nic_missed")).isEqualTo(tuples);
  }

  private static Map<String, String> totals(Plan plan) {
    try (Jedis jedis = redis.client()) {
      return jedis.hgetAll("tapline:query:" + plan.getQuery() + ":totals");
    }
  }

  private static long dropped(Plan plan, String reason) throws Exception {
    return new ObjectMapper().readTree(totals(plan).get("dropped")).path(reason).asLong();
  }

  /** Returns every key of the server with its content. */
  private static Map<String, String> everything() {
    try (Jedis jedis = redis.client()) {
      return jedis.keys("*").stream()
          .collect(Collectors.toMap(key -> key, key -> Arrays.toString(jedis.dump(key))));
    }
  }
}
