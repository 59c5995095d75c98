package io.tapline.control;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * A secret key for hashes (SipHash, parsers/api/flow_hash.h). With the key, a string can be guessed
 * from its hash, so the key is never printed.
 */
public final class HashKey {
  /** A public key: hashes are always the same and hide nothing. */
  public static final HashKey KNOWN = new HashKey("0".repeat(32));

  private static final int BYTES = 16;
  private static final Pattern DIGITS = Pattern.compile("[0-9a-fA-F]{" + 2 * BYTES + "}");

  private final String digits;

  private HashKey(String digits) {
    this.digits = digits;
  }

  /** Returns a random key. */
  public static HashKey random() {
    byte[] bytes = new byte[BYTES];
    new SecureRandom().nextBytes(bytes);
    return new HashKey(HexFormat.of().formatHex(bytes));
  }

  /**
   * Parses a key's hexadecimal digits.
   *
   * @throws IllegalArgumentException with the reason, but without the text
   */
  public static HashKey of(String text) {
    if (!DIGITS.matcher(text).matches()) {
      throw new IllegalArgumentException(
          text.length() == 2 * BYTES
              ? "not all of its 32 characters are hexadecimal digits"
              : "it has %d characters".formatted(text.length()));
    }
    return new HashKey(text);
  }

  /** Returns the 32 hexadecimal digits, for callers that need the key itself. */
  public String digits() {
    return digits;
  }

  @Override
  public String toString() {
    return "a hash key";
  }
}
