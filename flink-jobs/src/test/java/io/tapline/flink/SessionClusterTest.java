package io.tapline.flink;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.util.JsonFormat;
import io.tapline.flink.support.Deadline;
import io.tapline.flink.support.EmbeddedKafka;
import io.tapline.flink.support.JobRun;
import io.tapline.flink.support.Oracle;
import io.tapline.flink.support.Plans;
import io.tapline.flink.support.RedisServer;
import io.tapline.flink.support.SessionCluster;
import io.tapline.flink.support.Workload;
import io.tapline.schema.proto.Plan;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import org.apache.flink.api.common.JobID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** The thin job jar in a session cluster of processes, through Flink's REST interface. */
class SessionClusterTest {
  @TempDir Path directory;

  @Test
  void anUploadedJarRunsAPlanUnderTheJobIdThatWasChosen() throws Exception {
    try (EmbeddedKafka kafka = new EmbeddedKafka(directory.resolve("kafka"));
        RedisServer redis = new RedisServer();
        SessionCluster cluster = new SessionCluster(directory.resolve("cluster"))) {
      Plan plan =
          Plans.plan(
              "q-session",
              1,
              Plans.topK(5, "10s", "5s")
                  + ","
                  + Plans.diff("DISTRIBUTION", "\"dst_ip\"", "\"slide\":\"10s\""));
      Workload workload = new Workload("q-session", 1, 30, 300, 5);
      kafka.createTopic(plan.getTopic(), 1);
      for (byte[] record : workload.partitions.get(0)) {
        kafka.send(plan.getTopic(), 0, record);
      }
      String jar = cluster.upload(SessionCluster.jobJar(directory.resolve("jar")));
      String id = JobID.generate().toHexString();
      List<String> arguments = arguments(plan, kafka.brokers(), "127.0.0.1:" + redis.port());

      assertThat(cluster.run(jar, id, arguments).path("jobid").asText()).isEqualTo(id);
      Set<String> ends = Set.of("FINISHED", "FAILED", "CANCELED");
      Deadline.await("the end of the job", () -> ends.contains(cluster.state(id)));
      assertThat(cluster.state(id)).isEqualTo("FINISHED");
      try (Jedis jedis = redis.client()) {
        for (int i = 0; i < 2; i++) {
          assertThat(Oracle.actual(JobRun.windows(jedis, "q-session", i)))
              .isEqualTo(new Oracle(plan, i, workload.tuples, workload.endsNs).windows());
        }
      }

      String refused =
          cluster.run(jar, JobID.generate().toHexString(), List.of("--plan", "{}")).toString();
      assertThat(refused).contains("--brokers is missing");
    }
  }

  private static List<String> arguments(Plan plan, String brokers, String redis) throws Exception {
    String json = JsonFormat.printer().preservingProtoFieldNames().print(plan);
    String base64 = Base64.getEncoder().encodeToString(json.getBytes(StandardCharsets.UTF_8));
    return List.of("--plan", base64, "--brokers", brokers, "--redis", redis, "--parallelism", "2");
  }
}
