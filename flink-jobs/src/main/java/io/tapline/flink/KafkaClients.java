package io.tapline.flink;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.config.provider.DirectoryConfigProvider;

/** How clients of Kafka reach the brokers. */
public final class KafkaClients {
  private KafkaClients() {}

  /**
   * Settings that all clients share. Of the certificate and its key they say where they are: a
   * job's settings can be read in places where its key must not.
   */
  public static Map<String, Object> settings(Endpoints endpoints) {
    Map<String, Object> settings = new TreeMap<>();
    settings.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, endpoints.brokers());
    TlsFiles tls = endpoints.kafkaTls();
    if (!tls.isNone()) {
      settings.put(CommonClientConfigs.SECURITY_PROTOCOL_CONFIG, "SSL");
      settings.put(SslConfigs.SSL_TRUSTSTORE_TYPE_CONFIG, "PEM");
      settings.put(SslConfigs.SSL_TRUSTSTORE_LOCATION_CONFIG, tls.authorities());
      settings.put(SslConfigs.SSL_KEYSTORE_TYPE_CONFIG, "PEM");
      settings.put(SslConfigs.SSL_KEYSTORE_CERTIFICATE_CHAIN_CONFIG, content(tls.certificate()));
      settings.put(SslConfigs.SSL_KEYSTORE_KEY_CONFIG, content(tls.key()));
      settings.put(AbstractConfig.CONFIG_PROVIDERS_CONFIG, "file");
      settings.put(
          AbstractConfig.CONFIG_PROVIDERS_CONFIG + ".file.class",
          DirectoryConfigProvider.class.getName());
    }
    return settings;
  }

  /** For the client to replace by what is in the file. */
  private static String content(String file) {
    Path path = Path.of(file).toAbsolutePath();
    return "${file:%s:%s}".formatted(path.getParent(), path.getFileName());
  }
}
