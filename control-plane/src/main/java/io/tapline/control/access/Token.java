package io.tapline.control.access;

import io.tapline.compiler.access.Rights;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;

/**
 * The rights of a token's holder. Only the secret's hash is stored; a secret of 256 random bits
 * needs no slow hash function.
 *
 * @param name user-facing name; empty for none
 * @param sha256 hash of the secret, 64 hexadecimal digits
 * @param expires time from which the token is rejected; null if it does not expire
 * @param quota quota of the token's tenant
 */
public record Token(
    String name, Role role, Rights rights, String sha256, Instant expires, Quota quota) {
  private static final int SECRET_BYTES = 32;
  private static final String PREFIX = "tapline_";

  /** Number of hash digits in an ID, sufficient to distinguish the tokens in a file. */
  private static final int ID_DIGITS = 8;

  /** Returns a random secret. */
  public static String newSecret() {
    byte[] bytes = new byte[SECRET_BYTES];
    new SecureRandom().nextBytes(bytes);
    return PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  /** Returns the hash of a secret. */
  public static String hash(String secret) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(secret.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java provides SHA-256", e);
    }
  }

  /** Returns the ID for users and logs: a prefix of the hash. */
  public String id() {
    return sha256.substring(0, ID_DIGITS);
  }

  /** Returns true if the text is the token's name, its ID, or a longer prefix of its hash. */
  public boolean isCalled(String text) {
    return !name.isEmpty() && name.equals(text)
        || text.length() >= ID_DIGITS && sha256.startsWith(text);
  }

  public boolean isExpired(Instant now) {
    return expires != null && !now.isBefore(expires);
  }
}
