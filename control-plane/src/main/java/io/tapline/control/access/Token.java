package io.tapline.control.access;

import io.tapline.compiler.Rights;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;

/**
 * What a token lets its holder do. The secret itself is nowhere kept: its 256 random bits need no
 * slow hash.
 *
 * @param name for people; empty for none
 * @param sha256 of the secret, 64 hexadecimal digits
 * @param expires from when on it is refused; null for never
 * @param quota of its tenant
 */
public record Token(
    String name, Role role, Rights rights, String sha256, Instant expires, Quota quota) {
  private static final int SECRET_BYTES = 32;
  private static final String PREFIX = "tapline_";

  /** Of the hash: enough to tell tokens apart, too little to find one by trying. */
  private static final int ID_DIGITS = 8;

  /** A secret that nobody can guess. */
  public static String newSecret() {
    byte[] bytes = new byte[SECRET_BYTES];
    new SecureRandom().nextBytes(bytes);
    return PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  /** The hash under which a secret is known. */
  public static String hash(String secret) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(secret.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  /** By which people and logs speak of it: the hash's beginning. */
  public String id() {
    return sha256.substring(0, ID_DIGITS);
  }

  /** Whether it is meant by its name, its ID, or more of its hash. */
  public boolean isCalled(String text) {
    return !name.isEmpty() && name.equals(text)
        || text.length() >= ID_DIGITS && sha256.startsWith(text);
  }

  public boolean isExpired(Instant now) {
    return expires != null && !now.isBefore(expires);
  }
}
