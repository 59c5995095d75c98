package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import io.tapline.flink.support.Deadline;
import io.tapline.flink.support.FreePort;
import io.tapline.flink.support.JobCluster;
import io.tapline.flink.support.JobRun;
import io.tapline.flink.support.MonitorStream;
import io.tapline.flink.support.Oracle;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.RedisServer;
import io.tapline.flink.support.Tuple;
import io.tapline.flink.support.Workload;
import io.tapline.schema.proto.Plan;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/**
 * Tests the destinations of a job's results and alerts, and the job's reaction to the loss of a
 * destination.
 */
class JobEndpointsTest {
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
  void eachWindowGoesToTheResultsTopicAsALineOfJson() throws Exception {
    Plan plan = Plans.plan("q-topic", 1, Plans.topK(3, "10s", "5s"));
    Workload workload = new Workload("q-topic", 1, 20, 100, 6);
    jobs.send(plan, workload);
    jobs.kafka.createTopic("results", 1);
    Endpoints endpoints =
        Endpoints.open(jobs.kafka.brokers(), "127.0.0.1:" + jobs.redis.port())
            .withResultsTopic("results");
    JobID id = jobs.submit(plan, endpoints);
    jobs.await(id);
    try (Jedis jedis = jobs.redis.client()) {
      List<JsonNode> windows = JobRun.windows(jedis, "q-topic", 0);
      List<String> lines = jobs.kafka.read("results", windows.size());
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
  void theJobWaitsDuringARedisOutage() throws Exception {
    Plan plan = Plans.plan("q-outage", 1, Plans.topK(10, "10s", "10s"));
    Workload workload = new Workload("q-outage", 1, 30, 300, 4);
    jobs.kafka.createTopic(plan.getTopic(), 1);
    List<byte[]> records = workload.partitions.get(0);
    try (RedisServer own = new RedisServer()) {
      Endpoints endpoints = Endpoints.open(jobs.kafka.brokers(), "127.0.0.1:" + own.port());
      JobID id = jobs.submit(plan, endpoints);
      jobs.send(plan, 0, records.subList(0, records.size() / 4));
      Deadline.await("the first totals", () -> !own.keys("tapline:*").isEmpty());
      own.kill();
      jobs.send(plan, 0, records.subList(records.size() / 4, records.size()));
      own.start();
      jobs.await(id);
      try (Jedis jedis = own.client()) {
        List<String> laterWindows = Oracle.actual(JobRun.windows(jedis, "q-outage", 0));
        List<String> all = new Oracle(plan, 0, workload.tuples, workload.endsNs).windows();
        assertThat(all).endsWith(laterWindows.toArray(String[]::new));
        assertThat(laterWindows).hasSizeGreaterThan(1);
      }
    }
  }

  @Test
  void anUnreachableRedisFailsTheJobWithAClearMessage() throws Exception {
    Plan plan = Plans.plan("q-no-redis", 1, Plans.topK(10, "10s", "10s"));
    jobs.kafka.createTopic(plan.getTopic(), 1);
    int nobody = FreePort.choose();
    Endpoints endpoints = Endpoints.open(jobs.kafka.brokers(), "127.0.0.1:" + nobody);
    JobID id = jobs.submit(plan, endpoints);
    assertThatThrownBy(() -> jobs.await(id))
        .hasStackTraceContaining(
            "Redis at 127.0.0.1:" + nobody + " cannot be reached. Is Redis running there?");
  }

  /**
   * Tests that the job does not restart, which would not help, and that the error names the topic.
   */
  @Test
  void aDeletedAlertTopicFailsTheJobQuicklyAndIsNamed() throws Exception {
    jobs.kafka.createTopic("alerts.gone", 1);
    String trigger =
        Plans.with(
            Plans.counts("COUNT", "\"url\"", "\"size\":\"0.010s\",\"slide\":\"0.010s\""),
            """
            ,"condition":{},"trigger":{"severity":"info","actions":[{"topic":"alerts.gone"}]}""");
    Plan plan = Plans.plan("q-gone", 1, trigger);
    jobs.kafka.createTopic(plan.getTopic(), 1);
    MonitorStream monitor = new MonitorStream("q-gone", "m0", 0, 1);
    long ms = 1_000_000L;
    JobID id = jobs.submit(plan, JobOptions.defaults());
    List<Tuple> first = List.of(Tuple.http(1001 * ms, 1, "/a", 0));
    jobs.kafka.send(plan.getTopic(), 0, monitor.batch(1015 * ms, first).toByteArray());
    assertThat(jobs.kafka.read("alerts.gone", 1)).hasSize(1);
    jobs.kafka.deleteTopic("alerts.gone");
    List<Tuple> second = List.of(Tuple.http(1021 * ms, 2, "/b", 0));
    jobs.kafka.send(plan.getTopic(), 0, monitor.batch(1035 * ms, second).toByteArray());
    // The limit is shorter than a producer's timeout for a missing topic.
    JobResult result = jobs.cluster.requestJobResult(id).get(30, TimeUnit.SECONDS);
    Throwable cause =
        result.getSerializedThrowable().orElseThrow().deserializeError(getClass().getClassLoader());
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    assertThat(cause).hasMessage("cannot send alerts to topic alerts.gone: it no longer exists");
  }

  /** Tests alerts on requests counted by URL every 10 ms. They go to three receivers. */
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
    jobs.kafka.createTopic("alerts", 1);
    String trigger =
        Plans.with(
            Plans.counts("COUNT", "\"url\"", "\"size\":\"0.010s\",\"slide\":\"0.010s\""),
            """
            ,"condition":{"threshold":2},"trigger":{"clear":2,"severity":"critical","actions":[
              {"webhook":"http://127.0.0.1:%d/","private_addresses":true},{"topic":"alerts"}]}"""
                .formatted(receiver.getAddress().getPort()));
    Plan plan = Plans.plan("q-alerts", 1, trigger);
    jobs.kafka.createTopic(plan.getTopic(), 1);
    MonitorStream monitor = new MonitorStream("q-alerts", "m0", 0, 1);
    long ms = 1_000_000L;
    List<Tuple> burst =
        List.of(
            Tuple.http(1001 * ms, 1, "/a", 0),
            Tuple.http(1002 * ms, 2, "/b", 0),
            Tuple.http(1003 * ms, 3, "/a", 0),
            Tuple.http(1004 * ms, 4, "/a", 0));
    jobs.kafka.send(plan.getTopic(), 0, monitor.batch(1005 * ms, burst).toByteArray());
    jobs.kafka.send(plan.getTopic(), 0, monitor.batch(1015 * ms, List.of()).toByteArray());
    try {
      JobID id = jobs.submit(plan, JobOptions.defaults());
      Deadline.await("the alert by webhook", () -> posted.size() == 1);
      try (Jedis jedis = jobs.redis.client()) {
        assertThat(jedis.hgetAll("tapline:query:q-alerts:alerts:0")).containsOnlyKeys("/a");
      }
      jobs.kafka.send(plan.getTopic(), 0, monitor.end(1050 * ms).toByteArray());
      jobs.await(id);
      List<String> states = new ArrayList<>();
      try (Jedis jedis = jobs.redis.client()) {
        assertThat(jedis.hgetAll("tapline:query:q-alerts:alerts:0")).isEmpty();
        for (JsonNode window : JobRun.windows(jedis, "q-alerts", 0)) {
          states.add(window.get("end").asLong() / ms + window.at("/rows/0/alert/state").asText());
        }
      }
      assertThat(states).containsExactly("1010raised", "1020cleared");
      assertThat(jobs.kafka.read("alerts", 2)).containsAll(posted).hasSize(2);
    } finally {
      receiver.stop(0);
    }
  }
}
