package io.tapline.flink;

import org.apache.kafka.common.security.plain.PlainLoginModule;
import org.apache.kafka.common.security.scram.ScramLoginModule;

/** How a user shows Kafka its password. */
public enum SaslMechanism {
  /** Brokers keep a salted hash; the password itself is never sent. */
  SCRAM_SHA_256("SCRAM-SHA-256", ScramLoginModule.class),

  /**
   * The password is sent: for an embedded broker, which derives passwords instead of storing them.
   */
  PLAIN("PLAIN", PlainLoginModule.class);

  private final String text;
  private final Class<?> module;

  SaslMechanism(String text, Class<?> module) {
    this.text = text;
    this.module = module;
  }

  /** As Kafka's settings name it. */
  public String text() {
    return text;
  }

  /**
   * Reads what {@link #text} gives.
   *
   * @throws IllegalArgumentException for any other text
   */
  public static SaslMechanism of(String text) {
    for (SaslMechanism mechanism : values()) {
      if (mechanism.text.equals(text)) {
        return mechanism;
      }
    }
    throw new IllegalArgumentException(
        "the SASL mechanism must be SCRAM-SHA-256 or PLAIN, not " + text);
  }

  /** The setting {@code sasl.jaas.config} of a client. */
  String jaas(Login login) {
    return "%s required username=\"%s\" password=\"%s\";"
        .formatted(module.getName(), login.user(), login.password());
  }
}
