package io.tapline.flink;

import java.io.Serializable;
import java.util.Objects;

/**
 * The address and credentials with which clients connect to Kafka.
 *
 * @param brokers bootstrap servers, {@code host:port[,host:port]}
 * @param tls PEM files, which must have the same paths on every host with clients; none for
 *     plaintext
 * @param login the SASL user; none if brokers identify clients by their certificates
 * @param mechanism mechanism of the login
 */
public record KafkaEndpoint(String brokers, TlsFiles tls, Login login, SaslMechanism mechanism)
    implements Serializable {
  public KafkaEndpoint {
    Objects.requireNonNull(brokers, "brokers");
  }

  /** Creates an endpoint whose user logs in with SCRAM-SHA-256. */
  public KafkaEndpoint(String brokers, TlsFiles tls, Login login) {
    this(brokers, tls, login, SaslMechanism.SCRAM_SHA_256);
  }

  /** Returns an endpoint whose brokers accept plaintext connections from any client. */
  public static KafkaEndpoint open(String brokers) {
    return new KafkaEndpoint(brokers, TlsFiles.NONE, Login.NONE);
  }

  /** Returns the same brokers with a different user. */
  public KafkaEndpoint withLogin(Login user) {
    return new KafkaEndpoint(brokers, tls, user, mechanism);
  }
}
