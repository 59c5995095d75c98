package io.tapline.control.embedded;

import io.tapline.flink.Login;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.security.plain.PlainLoginModule;
import org.apache.kafka.common.security.scram.ScramLoginModule;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;

/**
 * The users that an embedded broker begins with. Their passwords are new at each start and are only
 * in this process, but for that of the monitors that it starts.
 *
 * @param control this process, which may do anything
 * @param monitor the monitors of this host, which may do what they are granted
 * @param broker the broker itself at its controller, which has to know it before there is any
 *     metadata: by PLAIN, since SCRAM keeps its users there
 */
record BrokerUsers(Login control, Login monitor, Login broker) {
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int PASSWORD_BYTES = 24;
  private static final String SCRAM = "SCRAM-SHA-256";

  static BrokerUsers random() {
    return new BrokerUsers(random("control"), random("monitor"), random("broker"));
  }

  private static Login random(String user) {
    byte[] bytes = new byte[PASSWORD_BYTES];
    RANDOM.nextBytes(bytes);
    return new Login(user, Base64.getUrlEncoder().encodeToString(bytes));
  }

  /** What the metadata log is formatted with. */
  List<String> credentials() {
    return List.of(credential(control), credential(monitor));
  }

  private static String credential(Login login) {
    return "%s=[name=%s,password=%s]".formatted(SCRAM, login.user(), login.password());
  }

  /** Closes all listeners to everybody else. */
  void addTo(Map<String, String> settings) {
    settings.put(
        "listener.security.protocol.map",
        "CONTROLLER:SASL_PLAINTEXT,CLIENTS:SASL_PLAINTEXT,HOSTS:SASL_PLAINTEXT");
    settings.put("sasl.enabled.mechanisms", SCRAM);
    settings.put("sasl.mechanism.inter.broker.protocol", SCRAM);
    settings.put("listener.name.clients.scram-sha-256.sasl.jaas.config", scram(control));
    settings.put("listener.name.hosts.scram-sha-256.sasl.jaas.config", scram(control));
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
