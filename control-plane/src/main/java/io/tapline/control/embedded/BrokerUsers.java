package io.tapline.control.embedded;

import io.tapline.control.JobKey;
import io.tapline.flink.Login;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.security.plain.PlainLoginModule;
import org.apache.kafka.common.security.scram.ScramLoginModule;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;

/**
 * The users of an embedded broker. Their passwords change at each start; those of super users never
 * leave this process.
 *
 * <p>These users log in with SASL/PLAIN. SCRAM would add 4,096 hashes to each login. That protects
 * stored passwords that people chose, but here passwords are random or derived ({@link
 * BrokerPasswords}), and only root can read the loopback interface.
 *
 * @param control login of this process, which may do anything
 * @param broker login of the broker itself
 * @param key key from which the passwords of jobs and monitors are derived
 * @param scram true if the broker also stores other users, which log in with SCRAM-SHA-256
 */
record BrokerUsers(Login control, Login broker, JobKey key, boolean scram) {
  /** User of all monitors that this process starts. */
  static final String MONITOR = "monitor";

  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int PASSWORD_BYTES = 24;
  private static final String PLAIN = "PLAIN";
  private static final String SCRAM = "SCRAM-SHA-256";

  static BrokerUsers random() {
    return new BrokerUsers(random("control"), random("broker"), JobKey.random(), false);
  }

  BrokerUsers withScram() {
    return new BrokerUsers(control, broker, key, true);
  }

  private static Login random(String user) {
    byte[] bytes = new byte[PASSWORD_BYTES];
    RANDOM.nextBytes(bytes);
    return new Login(user, Base64.getUrlEncoder().encodeToString(bytes));
  }

  /** Returns the login of monitors that this process starts. */
  Login monitor() {
    return new Login(MONITOR, key.monitorPassword(MONITOR));
  }

  /** Requires a login on all listeners. */
  void addTo(Map<String, String> settings) {
    settings.put(
        "listener.security.protocol.map",
        "CONTROLLER:SASL_PLAINTEXT,CLIENTS:SASL_PLAINTEXT,HOSTS:SASL_PLAINTEXT");
    settings.put("sasl.enabled.mechanisms", scram ? PLAIN + "," + SCRAM : PLAIN);
    settings.put("sasl.mechanism.inter.broker.protocol", PLAIN);
    settings.put("sasl.mechanism.controller.protocol", PLAIN);
    for (String listener : List.of("clients", "hosts")) {
      String prefix = "listener.name." + listener + ".plain.sasl.";
      settings.put(prefix + "jaas.config", BrokerPasswords.jaas(this));
      settings.put(prefix + "server.callback.handler.class", BrokerPasswords.class.getName());
    }
    if (scram) {
      settings.put(
          "listener.name.clients.scram-sha-256.sasl.jaas.config",
          ScramLoginModule.class.getName() + " required;");
    }
    // Only the broker logs in to the controller.
    settings.put("listener.name.controller.sasl.enabled.mechanisms", PLAIN);
    settings.put("listener.name.controller.plain.sasl.jaas.config", ofBroker());
    settings.put("authorizer.class.name", StandardAuthorizer.class.getName());
    settings.put("super.users", "User:%s;User:%s".formatted(control.user(), broker.user()));
  }

  /** Returns the login setting for both ends of the broker's connections to the controller. */
  private String ofBroker() {
    return "%s required username=\"%s\" password=\"%s\" user_%s=\"%s\";"
        .formatted(
            PlainLoginModule.class.getName(),
            broker.user(),
            broker.password(),
            broker.user(),
            broker.password());
  }
}
