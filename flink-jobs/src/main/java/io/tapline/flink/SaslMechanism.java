package io.tapline.flink;

import org.apache.kafka.common.security.plain.PlainLoginModule;
import org.apache.kafka.common.security.scram.ScramLoginModule;

/** The mechanism by which a user proves to Kafka that it knows its password. */
public enum SaslMechanism {
  /** Brokers store a salted hash; the password itself is never sent. */
  SCRAM_SHA_256("SCRAM-SHA-256", ScramLoginModule.class),

  /**
   * The password itself is sent. The embedded broker needs it, since it derives passwords instead
   * of storing them.
   */
  PLAIN("PLAIN", PlainLoginModule.class);

  private final String text;
  private final Class<?> module;

  SaslMechanism(String text, Class<?> module) {
    this.text = text;
    this.module = module;
  }

  /** Returns the name in Kafka's settings. */
  public String text() {
    return text;
  }

  /**
   * Parses the result of {@link #text}.
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

  /** Returns the value of a client's {@code sasl.jaas.config} setting. */
  String jaas(Login login) {
    return "%s required username=\"%s\" password=\"%s\";"
        .formatted(module.getName(), login.user(), login.password());
  }
}
