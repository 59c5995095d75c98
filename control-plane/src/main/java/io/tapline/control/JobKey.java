package io.tapline.control;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The secret from which the passwords of stream jobs are derived. Passwords are not stored: a
 * control plane that takes over derives them again. All control planes of a deployment share it.
 */
public final class JobKey {
  private static final String ALGORITHM = "HmacSHA256";
  private static final int MIN_CHARACTERS = 16;
  private static final int RANDOM_BYTES = 32;

  private final String secret;

  private JobKey(String secret) {
    this.secret = secret;
  }

  /** Returns the key with this secret, a result of {@link #secret}. */
  public static JobKey of(String secret) {
    return new JobKey(secret);
  }

  /** Returns a random key, for control planes whose jobs are never taken over. */
  public static JobKey random() {
    byte[] key = new byte[RANDOM_BYTES];
    new SecureRandom().nextBytes(key);
    return new JobKey(Base64.getUrlEncoder().encodeToString(key));
  }

  /**
   * Reads a file whose first line is the secret.
   *
   * @throws IOException with a user-facing message, without the file's contents
   */
  public static JobKey read(Path file) throws IOException {
    String line;
    try {
      line = Files.readString(file).lines().findFirst().orElse("").strip();
    } catch (IOException e) {
      throw new IOException(file + ": can't be read; does it exist?", e);
    }
    if (line.length() < MIN_CHARACTERS) {
      throw new IOException(
          "%s: its first line must be a secret of at least %d characters; openssl rand -hex 32 prints one"
              .formatted(file, MIN_CHARACTERS));
    }
    return new JobKey(line);
  }

  /**
   * Returns the password of a query's job at a service.
   *
   * @param service {@code kafka} or {@code redis}
   */
  public String password(String service, String query) {
    return code(service + " job " + query);
  }

  /** Returns the password of a host's monitor at an embedded broker. */
  public String monitorPassword(String user) {
    return code("kafka monitor " + user);
  }

  /** Returns the secret, for components that check passwords. */
  public String secret() {
    return secret;
  }

  private String code(String text) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), ALGORITHM));
      byte[] code = mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
      return Base64.getUrlEncoder().withoutPadding().encodeToString(code);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JVM provides HmacSHA256", e);
    }
  }
}
