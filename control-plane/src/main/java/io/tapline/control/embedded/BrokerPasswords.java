package io.tapline.control.embedded;

import io.tapline.control.JobKey;
import io.tapline.control.query.services.KafkaAccess;
import io.tapline.flink.Login;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.plain.PlainAuthenticateCallback;
import org.apache.kafka.common.security.plain.PlainLoginModule;

/**
 * Checks the passwords of an embedded broker's clients. Those of jobs and monitors are derived from
 * the user name and the broker's key, so a first login needs no preparation; those of super users
 * are random.
 *
 * <p>PLAIN is also the best choice for monitors: librdkafka 2.0.2 (Debian 12) reuses its SCRAM
 * nonce, which brokers reject as of Kafka 3.8.1.
 */
public final class BrokerPasswords implements AuthenticateCallbackHandler {
  private static final String KEY = "key";
  private static final String SUPER_USER = "super_";

  private final Map<String, String> superUsers = new HashMap<>();
  private JobKey key;

  /**
   * Returns the setting that passes the passwords to {@link #configure}, and the broker's own
   * login.
   */
  static String jaas(BrokerUsers users) {
    return "%s required username=\"%s\" password=\"%s\" %s%s %s%s %s=\"%s\";"
        .formatted(
            PlainLoginModule.class.getName(),
            users.broker().user(),
            users.broker().password(),
            SUPER_USER,
            option(users.broker()),
            SUPER_USER,
            option(users.control()),
            KEY,
            users.key().secret());
  }

  private static String option(Login login) {
    return "%s=\"%s\"".formatted(login.user(), login.password());
  }

  @Override
  public void configure(
      Map<String, ?> settings, String mechanism, List<AppConfigurationEntry> jaas) {
    Map<String, ?> options = jaas.get(0).getOptions();
    key = JobKey.of((String) options.get(KEY));
    options.forEach(
        (name, value) -> {
          if (name.startsWith(SUPER_USER)) {
            superUsers.put(name.substring(SUPER_USER.length()), (String) value);
          }
        });
  }

  @Override
  public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
    String user = "";
    for (Callback callback : callbacks) {
      if (callback instanceof NameCallback name) {
        user = name.getDefaultName();
      } else if (callback instanceof PlainAuthenticateCallback password) {
        password.authenticated(isRight(user, new String(password.password())));
      } else {
        throw new UnsupportedCallbackException(callback);
      }
    }
  }

  private boolean isRight(String user, String password) {
    return MessageDigest.isEqual(
        expected(user).getBytes(StandardCharsets.UTF_8), password.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Returns a user's password. A host whose name equals that of a super user or a job can't log in
   * as either.
   */
  private String expected(String user) {
    String own = superUsers.get(user);
    return own != null ? own : KafkaAccess.derivedPassword(key, user);
  }

  @Override
  public void close() {}
}
