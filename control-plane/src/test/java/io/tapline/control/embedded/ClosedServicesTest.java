package io.tapline.control.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.control.JobKey;
import io.tapline.flink.KafkaClients;
import io.tapline.flink.KafkaEndpoint;
import io.tapline.flink.Login;
import io.tapline.flink.SaslMechanism;
import io.tapline.flink.TlsFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests that other users can't access the embedded services, on any port on which this process
 * listens.
 */
class ClosedServicesTest {
  @TempDir Path folder;

  @Test
  void listenersOfTheBrokerRequireAPassword() throws Exception {
    Set<Integer> previousListening = listening();
    EmbeddedKafka kafka = EmbeddedKafka.start(folder, "127.0.0.2", reason -> {});
    try {
      Set<Integer> ports = listening();
      ports.removeAll(previousListening);
      assertThat(ports).as("clients, controller, hosts").hasSize(3);
      String user = kafka.endpoint().login().user();
      for (int port : ports) {
        String host = kafka.hostBrokers().endsWith(":" + port) ? "127.0.0.2:" : "127.0.0.1:";
        String server = host + port;
        for (Map<String, Object> stranger :
            List.of(
                settings(server, "PLAINTEXT", "", ""),
                settings(server, "SASL_PLAINTEXT", "Scram", user),
                settings(server, "SASL_PLAINTEXT", "Plain", user),
                settings(server, "SASL_PLAINTEXT", "Plain", "broker"))) {
          assertRefused(stranger);
        }
      }
    } finally {
      kafka.close();
    }
  }

  private static Map<String, Object> settings(
      String server, String protocol, String mechanism, String user) {
    Map<String, Object> settings = new HashMap<>();
    settings.put("bootstrap.servers", server);
    settings.put("security.protocol", protocol);
    settings.put("request.timeout.ms", 1_500);
    settings.put("default.api.timeout.ms", 3_000);
    if (!mechanism.isEmpty()) {
      settings.put("sasl.mechanism", mechanism.equals("Scram") ? "SCRAM-SHA-256" : "PLAIN");
      settings.put(
          "sasl.jaas.config",
          "org.apache.kafka.common.security.%s.%sLoginModule required username=\"%s\" password=\"guessed\";"
              .formatted(mechanism.toLowerCase(java.util.Locale.ROOT), mechanism, user));
    }
    return settings;
  }

  private static void assertRefused(Map<String, Object> stranger) {
    Map<String, Object> asController = new HashMap<>(stranger);
    asController.put("bootstrap.controllers", asController.remove("bootstrap.servers"));
    for (Map<String, Object> settings : List.of(stranger, asController)) {
      try (Admin admin = Admin.create(settings)) {
        assertThatThrownBy(() -> admin.describeCluster().clusterId().get())
            .as(settings.toString())
            .isInstanceOf(ExecutionException.class);
      }
    }
  }

  @Test
  void theBrokersOwnClientLogsIn() throws Exception {
    EmbeddedKafka kafka = EmbeddedKafka.start(folder, "127.0.0.2", reason -> {});
    try {
      KafkaEndpoint own = kafka.endpoint();
      KafkaEndpoint hosts =
          new KafkaEndpoint(kafka.hostBrokers(), own.tls(), own.login(), own.mechanism());
      for (KafkaEndpoint endpoint : List.of(own, hosts)) {
        try (Admin admin = Admin.create(KafkaClients.settings(endpoint))) {
          assertThat(admin.listTopics().names().get()).isEmpty();
        }
      }
      assertThat(own.login()).isNotEqualTo(Login.NONE);
      assertThat(own.login().password()).isNotEqualTo(kafka.monitorLogin().password());
    } finally {
      kafka.close();
    }
  }

  @Test
  void jobsAndHostsLogInWithDerivedPasswords() throws Exception {
    EmbeddedKafka kafka = EmbeddedKafka.start(folder, "", reason -> {});
    try {
      JobKey key = kafka.key().orElseThrow();
      String server = kafka.endpoint().brokers();
      for (Login right :
          List.of(
              new Login("job-q1", key.password("kafka", "q1")),
              new Login("h1", key.monitorPassword("h1")))) {
        KafkaEndpoint own = new KafkaEndpoint(server, TlsFiles.NONE, right, SaslMechanism.PLAIN);
        try (Admin admin = Admin.create(KafkaClients.settings(own))) {
          assertThat(admin.listTopics().names().get()).isEmpty();
        }
      }
      for (Login wrongLogin :
          List.of(
              new Login("control", key.monitorPassword("control")),
              new Login("broker", key.monitorPassword("broker")),
              new Login("job-q1", key.monitorPassword("job-q1")),
              new Login("job-q1", key.password("kafka", "q2")),
              new Login("h1", key.monitorPassword("h2")))) {
        Map<String, Object> settings =
            KafkaClients.settings(
                new KafkaEndpoint(server, TlsFiles.NONE, wrongLogin, SaslMechanism.PLAIN));
        try (Admin admin = Admin.create(settings)) {
          assertThatThrownBy(() -> admin.listTopics().names().get())
              .as(wrongLogin.user())
              .hasCauseInstanceOf(SaslAuthenticationException.class);
        }
      }
    } finally {
      kafka.close();
    }
  }

  @Test
  void flinkHasNoOpenPort() throws Exception {
    Set<Integer> previousListening = listening();
    EmbeddedFlink flink = EmbeddedFlink.start(folder, 2);
    try {
      assertThat(flink.isRunning()).isTrue();
      assertThat(listening()).isSubsetOf(previousListening);
    } finally {
      flink.close();
    }
  }

  /**
   * Returns the TCP ports on which this process listens over IPv4 and IPv6, found through its
   * sockets in proc(5).
   */
  private static Set<Integer> listening() throws IOException {
    Set<String> own = new TreeSet<>();
    try (var descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (Path descriptor : descriptors) {
        try {
          own.add(Files.readSymbolicLink(descriptor).toString());
        } catch (IOException closedConcurrently) {
          continue;
        }
      }
    }
    Set<Integer> ports = new TreeSet<>();
    for (String table : List.of("/proc/self/net/tcp", "/proc/self/net/tcp6")) {
      for (String line : Files.readAllLines(Path.of(table))) {
        String[] words = line.trim().split("\\s+");
        if (words[3].equals("0A") && own.contains("socket:[" + words[9] + "]")) {
          ports.add(Integer.parseInt(words[1].substring(words[1].indexOf(':') + 1), 16));
        }
      }
    }
    return ports;
  }
}
