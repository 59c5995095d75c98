package io.tapline.flink;

import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.config.provider.DirectoryConfigProvider;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/** Client settings for a Kafka endpoint. */
public final class KafkaClients {
  private KafkaClients() {}

  /**
   * Returns the settings that all clients share. They refer to the certificate and key files
   * instead of containing them, since users who may not read the key can read a job's settings.
   */
  public static Map<String, Object> settings(KafkaEndpoint kafka) {
    Map<String, Object> settings = new TreeMap<>();
    settings.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, kafka.brokers());
    TlsFiles tls = kafka.tls();
    if (!tls.isNone()) {
      settings.put(SslConfigs.SSL_TRUSTSTORE_TYPE_CONFIG, "PEM");
      settings.put(SslConfigs.SSL_TRUSTSTORE_LOCATION_CONFIG, tls.authorities());
    }
    if (!tls.certificate().isEmpty()) {
      settings.put(SslConfigs.SSL_KEYSTORE_TYPE_CONFIG, "PEM");
      settings.put(SslConfigs.SSL_KEYSTORE_CERTIFICATE_CHAIN_CONFIG, content(tls.certificate()));
      settings.put(SslConfigs.SSL_KEYSTORE_KEY_CONFIG, content(tls.key()));
      settings.put(AbstractConfig.CONFIG_PROVIDERS_CONFIG, "file");
      settings.put(
          AbstractConfig.CONFIG_PROVIDERS_CONFIG + ".file.class",
          DirectoryConfigProvider.class.getName());
    }
    if (!kafka.login().isNone()) {
      settings.put(SaslConfigs.SASL_MECHANISM, kafka.mechanism().text());
      settings.put(
          SaslConfigs.SASL_JAAS_CONFIG, new Password(kafka.mechanism().jaas(kafka.login())));
    }
    settings.put(CommonClientConfigs.SECURITY_PROTOCOL_CONFIG, protocol(kafka).name);
    // Metrics are read only through Flink; JMX and the brokers do not need them.
    settings.put(CommonClientConfigs.METRIC_REPORTER_CLASSES_CONFIG, "");
    settings.put(CommonClientConfigs.ENABLE_METRICS_PUSH_CONFIG, "false");
    return settings;
  }

  /**
   * Returns the same settings as strings, for a source or sink that is serialized and sent to a
   * task manager.
   */
  public static Properties properties(KafkaEndpoint kafka) {
    Properties properties = new Properties();
    settings(kafka)
        .forEach(
            (name, value) ->
                properties.setProperty(
                    name, value instanceof Password secret ? secret.value() : value.toString()));
    return properties;
  }

  private static SecurityProtocol protocol(KafkaEndpoint kafka) {
    if (kafka.login().isNone()) {
      return kafka.tls().isNone() ? SecurityProtocol.PLAINTEXT : SecurityProtocol.SSL;
    }
    return kafka.tls().isNone() ? SecurityProtocol.SASL_PLAINTEXT : SecurityProtocol.SASL_SSL;
  }

  /** Returns a reference that the client replaces with the file's contents. */
  private static String content(String file) {
    Path path = Path.of(file).toAbsolutePath();
    return "${file:%s:%s}".formatted(path.getParent(), path.getFileName());
  }
}
