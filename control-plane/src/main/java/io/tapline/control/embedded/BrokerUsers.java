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
 * The users of an embedded broker. Their passwords are new at each start; those of super users stay
 * in this process.
 *
 * @param control this process, which may do anything
 * @param broker the broker itself at its controller, which has to know it before there is any
 *     metadata: by PLAIN, since SCRAM keeps its users there
 * @param monitors from which the passwords of monitors follow, which log in by PLAIN (see {@link
 *     MonitorPasswords})
 */
record BrokerUsers(Login control, Login broker, JobKey monitors) {
  /** All monitors that this process starts. */
  static final String MONITOR = "monitor";

  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int PASSWORD_BYTES = 24;
  private static final String SCRAM = "SCRAM-SHA-256";

  static BrokerUsers random() {
    return new BrokerUsers(random("control"), random("broker"), JobKey.random());
  }

  private static Login random(String user) {
    byte[] bytes = new byte[PASSWORD_BYTES];
    RANDOM.nextBytes(bytes);
    return new Login(user, Base64.getUrlEncoder().encodeToString(bytes));
  }

  /** How monitors that this process starts log in. */
  Login monitor() {
    return new Login(MONITOR, monitors.monitorPassword(MONITOR));
  }

  /** The records that the metadata log is formatted with. */
  List<String> credentials() {
    return List.of(credential(control));
  }

  private static String credential(Login login) {
    return "%s=[name=%s,password=%s]".formatted(SCRAM, login.user(), login.password());
  }

  /** Closes all listeners to everybody else. */
  void addTo(Map<String, String> settings) {
    settings.put(
        "listener.security.protocol.map",
        "CONTROLLER:SASL_PLAINTEXT,CLIENTS:SASL_PLAINTEXT,HOSTS:SASL_PLAINTEXT");
    settings.put("sasl.enabled.mechanisms", SCRAM + ",PLAIN");
    settings.put("sasl.mechanism.inter.broker.protocol", SCRAM);
    for (String clients : List.of("listener.name.clients.", "listener.name.hosts.")) {
      settings.put(clients + "scram-sha-256.sasl.jaas.config", scram(control));
      settings.put(clients + "plain.sasl.jaas.config", MonitorPasswords.jaas(monitors));
      settings.put(
          clients + "plain.sasl.server.callback.handler.class", MonitorPasswords.class.getName());
    }
    settings.put("sasl.mechanism.controller.protocol", "PLAIN");
    settings.put("listener.name.controller.sasl.enabled.mechanisms", "PLAIN");
    settings.put("listener.name.controller.plain.sasl.jaas.config", plain(broker));
    settings.put("authorizer.class.name", StandardAuthorizer.class.getName());
    settings.put("super.users", "User:%s;User:%s".formatted(control.user(), broker.user()));
  }

  private static String scram(Login login) {
    return "%s required username=\"%s\" password=\"%s\";"
        .formatted(ScramLoginModule.class.getName(), login.user(), login.password());
  }

  /** For both ends of a connection. */
  private static String plain(Login login) {
    return "%s required username=\"%s\" password=\"%s\" user_%s=\"%s\";"
        .formatted(
            PlainLoginModule.class.getName(),
            login.user(),
            login.password(),
            login.user(),
            login.password());
  }
}
