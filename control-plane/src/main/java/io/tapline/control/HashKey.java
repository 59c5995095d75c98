package io.tapline.control;

import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * A secret key of hashes (SipHash, parsers/api/flow_hash.h). Whoever knows it can try out which
 * text has a hash, so it is shown nowhere.
 */
public final class HashKey {
  /** One that everybody knows: the same hashes each time, which hide nothing. */
  public static final HashKey KNOWN = new HashKey("0".repeat(32));

  private static final int BYTES = 16;
  private static final Pattern DIGITS = Pattern.compile("[0-9a-fA-F]{" + 2 * BYTES + "}");

  private final String digits;

  private HashKey(String digits) {
    this.digits = digits;
  }

  /** One that nobody knows. */
  public static HashKey random() {
    byte[] bytes = new byte[BYTES];
    new SecureRandom().nextBytes(bytes);
    return new HashKey(HexFormat.of().formatHex(bytes));
  }

  /**
   * The key of so many digits.
   *
   * @throws IllegalArgumentException with what is wrong, but not the text
   */
  public static HashKey of(String text) {
    if (!DIGITS.matcher(text).matches()) {
      throw new IllegalArgumentException(
          text.length() == 2 * BYTES
              ? "not all of its 32 characters are such digits"
              : "it has %d characters".formatted(text.length()));
    }
    return new HashKey(text);
  }

  /** The 32 hexadecimal digits, for who needs the key itself. */
  public String digits() {
    return digits;
  }

  @Override
  public String toString() {
    return "a hash key";
  }
}
