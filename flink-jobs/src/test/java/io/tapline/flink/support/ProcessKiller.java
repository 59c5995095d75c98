package io.tapline.flink.support;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.schema.proto.Plan;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import redis.clients.jedis.Jedis;

/**
 * Kills the task manager, the broker, Redis and the job manager in turn, with SIGKILL, while two
 * queries run. The input of one is already in Kafka and is read at a limited rate; the input of the
 * other arrives during the test. Both must end with the results of an undisturbed run.
 */
public final class ProcessKiller {
  private static final String PROCESSORS =
      String.join(
          ",",
          Plans.topK(5, "10s", "2s"),
          Plans.join("AVG", "\"size\":\"10s\",\"slide\":\"5s\""),
          Plans.diff("DISTRIBUTION", "\"dst_ip\"", "\"slide\":\"10s\""));

  /** Processors whose window is the whole query. */
  private static final Set<String> SNAPSHOTS = Set.of("2");

  private static final long LONGEST_PAUSE_MS = 1500;

  private final Deployment deployment;
  private final int seconds;
  private final int connections;
  private final Random random = new Random(7);
  private Plan stored;
  private Plan live;
  private Workload arriving;
  private List<String> jobs;
  private final List<String> log = new ArrayList<>();

  /**
   * Creates a test for a deployment.
   *
   * @param seconds duration of the workload, in packet time
   * @param connections connections seen by each of two monitors
   */
  public ProcessKiller(Deployment deployment, int seconds, int connections) {
    this.deployment = deployment;
    this.seconds = seconds;
    this.connections = connections;
  }

  /**
   * Returns a line for each kill, with the time until the query with stored input wrote its next
   * window.
   */
  public List<String> log() {
    return log;
  }

  /** Runs rounds in which each server is killed once; returns the number of kills. */
  public int run(int rounds) throws Exception {
    Plan quiet = topic("q-quiet");
    send(quiet, workload("q-quiet"), 0, 1);
    deployment.awaitEnd(deployment.submit(quiet));
    requirePlain(quiet);

    stored = topic("q-stored");
    long bytes = send(stored, workload("q-stored"), 0, 1);
    deployment.broker.client().limitConsumer("tapline-q-stored-0", bytes / (15 + 30L * rounds));
    live = topic("q-live");
    arriving = workload("q-live");
    jobs = List.of(start(stored), start(live));
    int kills = 0;
    for (int round = 0; round < rounds; round++) {
      kill(kills++, 4 * rounds, "task manager", deployment.cluster::replaceTaskManager);
      kill(kills++, 4 * rounds, "broker", deployment.broker::replace);
      kill(kills++, 4 * rounds, "Redis", deployment.redis::replace);
      kill(kills++, 4 * rounds, "job manager", deployment.cluster::replaceJobManager);
    }
    send(live, arriving, 1.0 * kills / (kills + 1), 1);
    deployment.broker.client().limitConsumer("tapline-q-stored-0", 1L << 30);
    for (String job : jobs) {
      deployment.awaitEnd(job);
    }
    for (Plan plan : List.of(stored, live)) {
      requirePlain(plan);
      requireSame(deployment.results(plan.getQuery(), SNAPSHOTS));
    }
    return kills;
  }

  private String start(Plan plan) throws Exception {
    return deployment.submit(plan, "--checkpoint-interval", "300", "--restart-attempts", "100");
  }

  /** Kills a server and restarts it. */
  private interface Kill {
    void run() throws Exception;
  }

  /**
   * Sends the next part of the live query's input, then kills a server at a random time after each
   * job has completed a checkpoint.
   */
  private void kill(int number, int of, String process, Kill kill) throws Exception {
    send(live, arriving, 1.0 * number / (of + 1), (number + 1.0) / (of + 1));
    for (String job : jobs) {
      int previousCheckpoints = deployment.cluster.rest().checkpoints(job, "completed");
      Deadline.await(
          "a checkpoint before the " + process + " is killed",
          () -> deployment.cluster.rest().checkpoints(job, "completed") > previousCheckpoints);
    }
    Thread.sleep(random.nextLong(LONGEST_PAUSE_MS));
    for (String job : jobs) {
      assertThat(deployment.cluster.rest().state(job)).as("before a kill").isEqualTo("RUNNING");
    }
    long windows = deployment.windows(stored.getQuery());
    long begin = System.nanoTime();
    kill.run();
    Deadline.await("a window", () -> deployment.windows(stored.getQuery()) > windows);
    log.add("%-12s next window after %.1f s".formatted(process, (System.nanoTime() - begin) / 1e9));
  }

  private Workload workload(String query) {
    return new Workload(query, 2, seconds, connections, 5);
  }

  private Plan topic(String query) throws Exception {
    Plan plan = Plans.plan(query, 2, PROCESSORS);
    deployment.broker.client().createTopic(plan.getTopic(), 2);
    return plan;
  }

  /** Sends a part of each partition's records; returns the number of bytes. */
  private long send(Plan plan, Workload workload, double from, double to) throws Exception {
    long bytes = 0;
    for (int partition = 0; partition < workload.partitions.size(); partition++) {
      List<byte[]> records = workload.partitions.get(partition);
      int end = (int) (to * records.size());
      for (byte[] record : records.subList((int) (from * records.size()), end)) {
        deployment.broker.client().send(plan.getTopic(), partition, record);
        bytes += record.length;
      }
    }
    return bytes;
  }

  /** Compares the entries one by one, so that differences are readable. */
  private void requireSame(Map<String, List<String>> results) {
    Map<String, List<String>> expected = deployment.results("q-quiet", SNAPSHOTS);
    assertThat(results).containsOnlyKeys(expected.keySet());
    expected.forEach(
        (key, content) -> {
          assertThat(results.get(key)).as(key).hasSameSizeAs(content);
          for (int i = 0; i < content.size(); i++) {
            assertThat(results.get(key).get(i)).as(key).isEqualTo(content.get(i));
          }
        });
  }

  private void requirePlain(Plan plan) throws Exception {
    Workload workload = workload(plan.getQuery());
    try (Jedis jedis = deployment.redis.client()) {
      for (int i = 0; i < plan.getProcessorsCount(); i++) {
        assertThat(Oracle.actual(JobRun.windows(jedis, plan.getQuery(), i)))
            .isEqualTo(new Oracle(plan, i, workload.tuples, workload.endsNs).windows());
      }
    }
  }
}
