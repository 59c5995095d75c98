package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.flink.support.Deployment;
import io.tapline.flink.support.JobRun;
import io.tapline.flink.support.Oracle;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.Workload;
import io.tapline.schema.proto.Plan;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** Tests the thin job jar in a session cluster of separate processes, through Flink's REST API. */
class SessionClusterTest {
  @TempDir Path directory;

  @Test
  void anUploadedJarRunsAPlanUnderTheChosenJobId() throws Exception {
    Plan plan =
        Plans.plan(
            "q-session",
            1,
            Plans.topK(5, "10s", "5s")
                + ","
                + Plans.diff("DISTRIBUTION", "\"dst_ip\"", "\"slide\":\"10s\""));
    Workload workload = new Workload("q-session", 1, 30, 300, 5);
    try (Deployment deployment = new Deployment(directory)) {
      deployment.broker.client().createTopic(plan.getTopic(), 1);
      for (byte[] record : workload.partitions.get(0)) {
        deployment.broker.client().send(plan.getTopic(), 0, record);
      }
      deployment.awaitEnd(deployment.submit(plan, "--parallelism", "2"));
      try (Jedis jedis = deployment.redis.client()) {
        for (int i = 0; i < 2; i++) {
          assertThat(Oracle.actual(JobRun.windows(jedis, "q-session", i)))
              .isEqualTo(new Oracle(plan, i, workload.tuples, workload.endsNs).windows());
        }
      }
      assertThatThrownBy(() -> deployment.submit(plan, "--speed", "1"))
          .hasMessageContaining("unknown argument '--speed'");
    }
  }
}
