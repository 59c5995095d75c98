package io.tapline.flink.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.util.JsonFormat;
import io.tapline.flink.Endpoints;
import io.tapline.flink.JobOptions;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.RedisEndpoint;
import io.tapline.flink.SaslMechanism;
import io.tapline.flink.TlsFiles;
import io.tapline.flink.support.Plans;
import io.tapline.schema.proto.Plan;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests which arguments the job accepts and which it rejects. */
class JobArgumentsTest {
  private static final Plan PLAN = Plans.plan("q", 1, Plans.topK(3, "1s", "1s"));

  @TempDir Path directory;

  @Test
  void aPlanIsReadFromJsonAFileOrBase64() throws Exception {
    String json = JsonFormat.printer().preservingProtoFieldNames().print(PLAN);
    Path file = Files.writeString(directory.resolve("plan.json"), json);
    String base64 = Base64.getEncoder().encodeToString(json.getBytes(StandardCharsets.UTF_8));
    for (String form : new String[] {json, "@" + file, base64}) {
      JobArguments arguments =
          JobArguments.parse("--plan", form, "--brokers", "b:1", "--redis", "r:2");
      assertThat(arguments.plan()).isEqualTo(PLAN);
      assertThat(arguments.endpoints()).isEqualTo(Endpoints.open("b:1", "r:2"));
      assertThat(arguments.options()).isEqualTo(JobOptions.defaults());
    }
  }

  @Test
  void everyOptionTakesEffect() {
    JobArguments arguments =
        JobArguments.parse(
            ("--plan {} --brokers b:1 --redis [::1]:7 --parallelism 2 --checkpoint-interval 0 --checkpoint-dir file:///x"
                    + " --restart-attempts 3 --max-groups 4 --max-flows 5 --max-rows 6 --windows-kept 8 --silent-after 9")
                .split(" "));
    assertThat(arguments.options())
        .isEqualTo(
            new JobOptions(2, Duration.ZERO, "file:///x", 3, 4, 5, 6, 8, Duration.ofMillis(9)));
    assertThat(arguments.endpoints()).isEqualTo(Endpoints.open("b:1", "[::1]:7"));
  }

  @Test
  void formattedValuesAreParsedUnchanged() {
    JobOptions options = new JobOptions(2, Duration.ofMillis(7), "", 3, 4, 5, 6, 8, Duration.ZERO);
    for (Endpoints endpoints :
        new Endpoints[] {
          Endpoints.open("b:1,c:2", "r:7"),
          Endpoints.open("b:1", "[::1]:7").withResultsTopic("windows"),
          Endpoints.open("b:1", "unix:/run/redis.sock"),
          new Endpoints(
              new KafkaEndpoint(
                  "b:1", new TlsFiles("/ca", "/k.pem", "/k.key"), new Login("job-q", "a:b")),
              RedisEndpoint.open("r", 7)
                  .withTls(new TlsFiles("/ca", "/r.pem", "/r.key"))
                  .withLogin(new Login("job-q", "c"))),
          new Endpoints(
              new KafkaEndpoint("b:1", TlsFiles.NONE, new Login("job-q", "d"), SaslMechanism.PLAIN),
              RedisEndpoint.open("r", 7))
        }) {
      for (String folder : new String[] {"", "file:///x"}) {
        JobOptions own = options.withCheckpoints(options.checkpointInterval(), folder);
        String[] arguments = QueryJob.arguments(PLAN, endpoints, own).toArray(String[]::new);
        assertThat(JobArguments.parse(arguments)).isEqualTo(new JobArguments(PLAN, endpoints, own));
      }
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--redis r:1 --brokers b:1 | --plan is missing",
        "--plan {} --redis r:1 --brokers b:1 --kafka-sasl GSSAPI | must be SCRAM-SHA-256 or PLAIN, not GSSAPI",
        "--plan {} --redis r:1 | --brokers is missing",
        "--plan {} --brokers b:1 --redis r:x | redis address 'r:x' is not host:port or unix:/path",
        "--plan {} --brokers b:1 --redis unix:here | redis address 'unix:here' is not host:port or unix:/path",
        "--plan {} --brokers b:1 --redis unix:/here --redis-tls a,b,c | unix:/here: TLS is not supported over a Unix socket",
        "--plan {} --brokers b:1 --redis r:99999 | redis port 99999 is not in 1..65535",
        "--plan {\"x\":1} --brokers b:1 --redis r:1 | --plan is not a plan",
        "--plan @/no/such/file --brokers b:1 --redis r:1 | --plan can't be read",
        "--plan *** --brokers b:1 --redis r:1 | --plan is neither JSON, nor @FILE, nor base64",
        "--plan {} --brokers b:1 --redis r:1 --parallelism 0 | parallelism must be 1 or more, not 0",
        "--plan {} --brokers b:1 --redis r:1 --parallelism two | --parallelism is 'two', not a whole number",
        "--plan {} --brokers b:1 --redis | --redis needs a value",
        "--frob 1 | unknown argument '--frob'"
      })
  void wrongArgumentsAreNamed(String line, String message) {
    assertThatThrownBy(() -> JobArguments.parse(line.split(" ")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }

  @Test
  void plansThatNoJobCanRunAreRejected() {
    assertRefused(PLAN.toBuilder().setFormat(2), "format is 2, not 1");
    assertRefused(PLAN.toBuilder().setQuery("Q 1"), "query ID 'Q 1'");
    assertRefused(PLAN.toBuilder().clearTopic(), "does not name a topic");
    assertRefused(PLAN.toBuilder().clearMonitors(), "no monitor is given");
    assertRefused(PLAN.toBuilder().addMonitors(PLAN.getMonitors(0)), "names a monitor twice");
    assertRefused(PLAN.toBuilder().clearProcessors(), "no processor is given");
    assertRefused(
        PLAN.toBuilder().clearParsers(), "reads parser http_get, which the query does not run");
    assertProcessorRefused("\"ranking\":{\"k\":0}", "ranks no rows");
    assertProcessorRefused(
        "\"aggregate\":\"AVG\"", "has the aggregate AVG, which requires a value");
    assertProcessorRefused("\"window\":{}", "has a window without a slide");
    assertProcessorRefused(
        "\"window\":{\"size\":\"1s\",\"slide\":\"0.000000003s\"}", "more than 100000 panes");
    assertProcessorRefused(
        "\"join\":{\"parser\":\"mysql_query\"}", "joins mysql_query, which the query does not run");
  }

  private static void assertProcessorRefused(String fields, String message) {
    String window = fields.contains("window") ? "" : "\"window\":{\"slide\":\"1s\"},";
    String processor = "{\"name\":\"p\",\"parser\":\"http_get\"," + window + fields + "}";
    assertThatThrownBy(() -> QuerySpec.of(Plans.plan("q", 1, processor)))
        .hasMessageContaining(message);
  }

  private static void assertRefused(Plan.Builder plan, String message) {
    assertThatThrownBy(() -> QuerySpec.of(plan.build()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }
}
