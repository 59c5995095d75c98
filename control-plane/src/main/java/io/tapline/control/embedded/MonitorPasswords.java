package io.tapline.control.embedded;

import io.tapline.control.JobKey;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
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
 * Checks the passwords of monitors at an embedded broker: each follows from the user and a key of
 * the broker's, so that a host's first login needs no preparation.
 *
 * <p>PLAIN, since the librdkafka of Debian 12 (2.0.2) repeats its nonce in SCRAM, for which brokers
 * since 3.8.1 refuse it.
 */
public final class MonitorPasswords implements AuthenticateCallbackHandler {
  private static final String KEY = "monitor_key";

  private JobKey key;

  /** The setting by which {@link #configure} gets the key. */
  static String jaas(JobKey key) {
    return "%s required %s=\"%s\";".formatted(PlainLoginModule.class.getName(), KEY, key.secret());
  }

  @Override
  public void configure(
      Map<String, ?> settings, String mechanism, List<AppConfigurationEntry> jaas) {
    key = JobKey.of((String) jaas.get(0).getOptions().get(KEY));
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
        key.monitorPassword(user).getBytes(StandardCharsets.UTF_8),
        password.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public void close() {}
}
