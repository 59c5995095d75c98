package io.tapline.control.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.Compiler;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.control.query.services.JobCluster.JobEnd;
import io.tapline.control.testing.TestRedis;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.KafkaClients;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import io.tapline.flink.RedisEndpoint;
import io.tapline.flink.TlsFiles;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests that a job refused by the broker ends immediately with the reason, instead of restarting
 * repeatedly.
 */
class JobRefusalTest {
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));

  @TempDir private static Path folder;
  private static EmbeddedKafka kafka;
  private static EmbeddedFlink flink;
  private static TestRedis redis;
  private static Plan plan;

  @BeforeAll
  static void start() throws Exception {
    kafka = EmbeddedKafka.startWithScram(folder);
    flink = EmbeddedFlink.start(folder, 1);
    redis = TestRedis.start();
    Catalogue catalogue =
        Catalogue.fromJson(Files.readString(ROOT.resolve("build/share/tapline/parsers.json")));
    String text = "PARSE http_get FROM * TO * SAMPLE * PROCESS (group-count: group=method)";
    plan =
        Compiler.compile(text, catalogue, Inventory.empty(), Compiler.Options.local("q1"))
            .plan()
            .orElseThrow();
    try (Admin admin = Admin.create(KafkaClients.settings(kafka.endpoint()))) {
      admin.createTopics(List.of(new NewTopic(plan.getTopic(), 1, (short) 1))).all().get();
      UserScramCredentialUpsertion user =
          new UserScramCredentialUpsertion(
              "job-q2", new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), "a-password");
      admin.alterUserScramCredentials(List.of(user)).all().get();
    }
  }

  @AfterAll
  static void stop() {
    flink.close();
    redis.close();
    kafka.close();
  }

  private static String failure(Login login) throws Exception {
    KafkaEndpoint endpoint = new KafkaEndpoint(kafka.endpoint().brokers(), TlsFiles.NONE, login);
    Endpoints endpoints = new Endpoints(endpoint, RedisEndpoint.parse(redis.address()));
    JobID job = new JobID();
    flink.submit(plan, endpoints, JobOptions.defaults(), job);
    // Ten restarts with exponential backoff (factor 1.5) would take longer than this timeout.
    JobEnd end = flink.end(job).get(30, TimeUnit.SECONDS);
    return end.failure();
  }

  @Test
  void reportsAMissingRightOnTheTopic() throws Exception {
    assertThat(failure(new Login("job-q2", "a-password")))
        .contains("does not allow user job-q2 to read topic " + plan.getTopic());
  }

  @Test
  void reportsAWrongPassword() throws Exception {
    assertThat(failure(new Login("job-q2", "guessed")))
        .contains("does not allow user job-q2 to read topic " + plan.getTopic())
        .doesNotContain("guessed");
  }

  @Test
  void reportsAMissingCluster() {
    IOException reason = new IOException("can't start the embedded Flink cluster: no memory");
    EmbeddedFlink none =
        EmbeddedFlink.starting(CompletableFuture.failedFuture(reason), folder.resolve("none"));
    Endpoints endpoints = new Endpoints(kafka.endpoint(), RedisEndpoint.parse(redis.address()));
    assertThatThrownBy(() -> none.submit(plan, endpoints, JobOptions.defaults(), new JobID()))
        .isSameAs(reason);
  }
}
