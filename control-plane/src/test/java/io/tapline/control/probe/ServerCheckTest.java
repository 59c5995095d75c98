package io.tapline.control.probe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.tapline.control.PipelineException;
import io.tapline.control.embedded.EmbeddedKafka;
import io.tapline.control.embedded.EmbeddedServices;
import io.tapline.control.testing.Certificates;
import io.tapline.control.testing.TestRedis;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import io.tapline.flink.RedisEndpoint;
import io.tapline.flink.TlsFiles;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the checks with real Kafka and Redis servers, and with servers of other kinds. */
class ServerCheckTest {
  private static final String UNUSED = "127.0.0.1:1";

  @TempDir static Path folder;
  private static Certificates authority;
  private static TestRedis redis;
  private static EmbeddedKafka kafka;

  @BeforeAll
  static void start() throws Exception {
    authority = Certificates.authority(folder, "authority");
    authority.sign("server", "IP:127.0.0.1");
    authority.sign("elsewhere", "DNS:elsewhere");
    authority.sign("own", "DNS:own");
    redis = TestRedis.startWithUsers(folder);
    kafka = EmbeddedKafka.start(folder, "", reason -> {});
  }

  @AfterAll
  static void stop() {
    kafka.close();
    redis.close();
  }

  private static String fault(KafkaEndpoint endpoint) {
    return message(Optional.of(endpoint), Optional.empty());
  }

  private static String fault(RedisEndpoint endpoint) {
    return message(Optional.empty(), Optional.of(endpoint));
  }

  private static String message(Optional<KafkaEndpoint> kafka, Optional<RedisEndpoint> redis) {
    Throwable thrown = catchThrowable(() -> ServerCheck.require(kafka, redis));
    if (thrown == null) {
      return "";
    }
    assertThat(thrown).isInstanceOf(PipelineException.class);
    return thrown.getMessage();
  }

  private static KafkaEndpoint kafka(String brokers, TlsFiles tls) {
    return new KafkaEndpoint(brokers, tls, Login.NONE);
  }

  @Test
  void aRedisMustAcceptTheLogin() {
    assertThat(fault(redis.control())).isEmpty();
    assertThat(fault(redis.endpoint())).contains("requires a login", "--redis-password-file");
    assertThat(fault(redis.endpoint().withLogin(new Login("control", "guess"))))
        .contains("rejects the login of control (WRONGPASS")
        .doesNotContain("guess");
  }

  @Test
  void aListenerThatRequiresALoginIsRejected() {
    assertThat(fault(KafkaEndpoint.open(kafka.endpoint().brokers())))
        .contains("the listener requires a login (", "PLAIN", "without a login");
  }

  @Test
  void oneBrokerOfSeveralIsEnough() throws Exception {
    try (EmbeddedServices openServices = EmbeddedServices.startOpen("")) {
      String good = openServices.endpoints().kafka().brokers();
      assertThat(fault(KafkaEndpoint.open(UNUSED + "," + good))).isEmpty();
      assertThat(fault(kafka(good, authority.nobody()))).contains("it does not use TLS");
    }
    assertThat(fault(KafkaEndpoint.open(UNUSED + ",127.0.0.1:2")).lines())
        .hasSize(2)
        .allMatch(line -> line.contains("connection refused"));
  }

  @Test
  void bothServicesAreNamed() {
    assertThat(
            message(
                Optional.of(KafkaEndpoint.open(UNUSED)),
                Optional.of(RedisEndpoint.open("127.0.0.1", 1))))
        .startsWith("Kafka broker 127.0.0.1:1: connection refused")
        .contains("\nRedis 127.0.0.1:1: connection refused");
  }

  @Test
  void tlsFaultsAreExplained() throws Exception {
    try (TlsPeer peer = TlsPeer.start(authority.files("server"))) {
      assertThat(fault(KafkaEndpoint.open(peer.address())))
          .contains("it uses TLS; add --tls kafka");
      assertThat(fault(peer.redis())).contains("it uses TLS; add --tls redis");
      Certificates otherAuthority = Certificates.authority(folder, "other");
      assertThat(fault(kafka(peer.address(), otherAuthority.nobody())))
          .contains("its certificate is not signed by an authority in --tls-ca");
      assertThat(fault(peer.redis().withTls(authority.files("own"))))
          .contains("closed the connection without an answer");
    }
    try (TlsPeer peer = TlsPeer.start(authority.files("elsewhere"))) {
      assertThat(fault(kafka(peer.address(), authority.nobody())))
          .contains("the TLS handshake fails: No subject alternative names matching");
    }
  }

  @Test
  void unreadableTlsFilesAreNamed() {
    assertThat(fault(kafka(redis.address(), TlsFiles.trusting(folder.resolve("none.pem")))))
        .contains("none.pem: can't be read");
  }

  @Test
  void missingSocketsAreNamed() {
    assertThat(fault(RedisEndpoint.unix(folder.resolve("none.sock"))))
        .startsWith("Redis unix:")
        .contains("there is no such socket");
  }

  @Test
  void addressesAreHostAndPort() {
    assertThat(Address.list("a:1, [::1]:65535"))
        .isEqualTo(List.of(new Address("a", 1), new Address("::1", 65_535)))
        .extracting(Address::toString)
        .containsExactly("a:1", "[::1]:65535");
    for (String wrong : List.of("", "a", "a:", ":1", "a:0", "a:65536", "::1:1", "a:1,", "a:x")) {
      assertThatThrownBy(() -> Address.list(wrong))
          .as(wrong)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("is not HOST:PORT");
    }
  }
}
