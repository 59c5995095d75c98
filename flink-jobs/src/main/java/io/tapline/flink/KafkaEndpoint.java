package io.tapline.flink;

import java.io.Serializable;
import java.util.Objects;

/**
 * How clients reach Kafka.
 *
 * @param brokers bootstrap servers, {@code host:port[,host:port]}
 * @param tls PEM files that every client of a job finds at the same paths; none for plaintext
 * @param login the SASL (SCRAM-SHA-256) user; none where brokers know clients by their certificates
 */
public record KafkaEndpoint(String brokers, TlsFiles tls, Login login) implements Serializable {
  public KafkaEndpoint {
    Objects.requireNonNull(brokers, "brokers");
  }

  /** Brokers that take plaintext connections from anyone. */
  public static KafkaEndpoint open(String brokers) {
    return new KafkaEndpoint(brokers, TlsFiles.NONE, Login.NONE);
  }
}
