package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.flink.support.Deployment;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Usage;
import io.tapline.flink.support.Workload;
import io.tapline.schema.proto.Plan;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** Part of {@code make soak}: runs short queries one after another on one session cluster. */
class QueriesSoak {
  private static final int QUERIES = Integer.getInteger("tapline.soak.queries", 200);
  private static final int SAMPLES = 20;

  @TempDir Path directory;

  @Test
  void theMemoryOfAClusterDoesNotGrowWithItsQueries() throws Exception {
    try (Deployment deployment = new Deployment(directory)) {
      List<Map<String, Long>> samples = new ArrayList<>();
      for (int i = 1; i <= QUERIES; i++) {
        runOne(deployment, "q-short-%04d".formatted(i));
        if (i % Math.max(1, QUERIES / SAMPLES) == 0) {
          samples.add(Usage.of(deployment, directory));
          System.out.println(Usage.line(i, samples));
        }
      }
      assertThat(Usage.grown(samples)).isEmpty();
    }
  }

  /**
   * Runs a query as the control plane does: creates its topic, runs its job, and removes all
   * traces.
   */
  private static void runOne(Deployment deployment, String query) throws Exception {
    String processors =
        Plans.topK(5, "10s", "5s") + "," + Plans.join("AVG", "\"size\":\"10s\",\"slide\":\"5s\"");
    Plan plan = Plans.plan(query, 1, processors);
    Workload workload = new Workload(query, 1, 20, 50, 5);
    deployment.broker.client().createTopic(plan.getTopic(), 1);
    for (byte[] record : workload.partitions.get(0)) {
      deployment.broker.client().send(plan.getTopic(), 0, record);
    }
    String job = deployment.submit(plan);
    deployment.awaitEnd(job);
    deployment.deleteCheckpoints(job);
    assertThat(deployment.windows(query)).isPositive();
    deployment.broker.client().deleteTopic(plan.getTopic());
    try (Jedis jedis = deployment.redis.client()) {
      jedis.del(jedis.keys("tapline:query:" + query + ":*").toArray(String[]::new));
    }
  }
}
