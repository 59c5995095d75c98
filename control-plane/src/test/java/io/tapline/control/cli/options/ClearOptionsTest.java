package io.tapline.control.cli.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.server.ControllerCommand;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

class ClearOptionsTest {
  private static final String TLS = " --tls-certificate c --tls-key k --tls-ca a";

  /** A command that runs a server's checks without starting services. */
  @CommandLine.Command
  private static final class Ends {
    @Mixin private AgentOptions agentOptions;
    @Mixin private TlsOptions tls;
    @Mixin private ClearOptions clear;
    @Mixin private ServiceOptions services;
    @Mixin private CoordinationOptions coordination;

    @Option(names = "--agents")
    private String agents = "127.0.0.1:1";

    @Option(names = "--openflow-address")
    private String openFlow = "127.0.0.1";

    private Ends check() {
      services.speakTls(tls);
      coordination.speakTls(tls.of(TlsOptions.Service.ZOOKEEPER));
      services.check(clear);
      coordination.check(clear);
      agentOptions.check(clear, agents);
      ControllerCommand.check(clear, tls, openFlow);
      return this;
    }
  }

  private static Ends ends(String line) {
    Ends ends = new Ends();
    new CommandLine(ends).setCaseInsensitiveEnumValuesAllowed(true).parseArgs(line.split(" "));
    return ends.check();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--brokers 10.0.0.1:9092                          | kafka     | --tls kafka",
        "--brokers 127.0.0.1:9092,kafka2:9092             | kafka     | --tls kafka",
        "--brokers 127.evil.example:9092                  | kafka     | --tls kafka",
        "--redis redis:6379                               | redis     | --tls redis",
        "--redis [fd00::1]:6379                           | redis     | --tls redis",
        "--zookeeper 127.0.0.1:2181,10.0.0.2:2181/tapline | zookeeper | --tls zookeeper",
        "--flink http://127.0.0.1:8081 --flink http://f:1 | flink     | --tls flink",
        "--agents 10.0.0.1:8481                           | agents    | --agents-token-file",
        "--agents 0.0.0.0:8481                            | agents    | --agents-tls-certificate",
        "--agents [::]:8481 --agents-tls-certificate c --agents-tls-key k | agents | --agents-token-file",
        "--openflow-address 0.0.0.0                       | openflow  | --tls openflow",
      })
  void unencryptedPortsForOtherHostsRequireAnOption(String line, String service, String right) {
    String option = line.split(" ")[0];
    assertThatThrownBy(() -> ends(line))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith(option)
        .hasMessageContaining(right)
        .hasMessageContaining("--clear " + service);
    assertThatCode(() -> ends(line + " --clear " + service)).doesNotThrowAnyException();
    String another = service.equals("redis") ? "kafka" : "redis";
    assertThatThrownBy(() -> ends(line + " --clear " + another)).hasMessageStartingWith(option);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--brokers 127.0.0.1:9092,localhost:9093,[::1]:9094 --redis localhost:6379",
        "--zookeeper 127.0.0.1:2181/tapline --flink http://localhost:8081 --flink http://[::1]:8082",
        "--agents 127.0.0.1:8481 --openflow-address ::1 --redis unix:/run/redis.sock",
        "--agents 10.0.0.1:8481 --agents-tls-certificate c --agents-tls-key k --agents-token-file t",
        "--brokers k:1 --redis r:1 --zookeeper z:1 --flink https://f:1 --openflow-address 0.0.0.0"
            + " --tls kafka,redis,zookeeper,flink,openflow"
            + TLS,
      })
  void loopbackAndTlsNeedNothing(String line) {
    assertThatCode(() -> ends(line)).doesNotThrowAnyException();
  }

  @Test
  void anEmbeddedBrokerForOtherHostsHasNoTls() {
    Ends ends = ends("--clear redis");
    ends.services.reachedAt("10.0.0.1");
    assertThatThrownBy(ends::check)
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("embedded broker")
        .hasMessageContaining("--clear kafka");
  }

  @Test
  void unencryptedConnectionsCauseOneWarningEach() {
    Ends ends = ends("--redis redis:6379 --brokers 127.0.0.1:9092 --clear redis,kafka,flink");
    ByteArrayOutputStream stderr = new ByteArrayOutputStream();
    ends.clear.warn(new Console(new ByteArrayOutputStream(), stderr, 0, false));
    assertThat(stderr.toString(StandardCharsets.UTF_8).lines())
        .singleElement()
        .asString()
        .contains("warning", "--redis redis:6379", "--clear redis");
  }
}
