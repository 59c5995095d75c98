package io.tapline.conditions;

import java.math.BigInteger;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A number in a condition: an integer if possible, since nanoseconds since the epoch don't fit into
 * a double.
 *
 * @param whole null for a real number
 */
public record Number(BigInteger whole, double real) {
  static final Number ZERO = of(BigInteger.ZERO);

  private static final BigInteger MAX_U64 =
      BigInteger.ONE.shiftLeft(Long.SIZE).subtract(BigInteger.ONE);

  /** Limit below which a product with a unit becomes an integer if it is whole. */
  private static final double MAX_EXACT_PRODUCT = 1e18;

  private static final Map<String, Integer> NAMES =
      Map.of("true", 1, "false", 0, "TCP", 6, "tcp", 6, "UDP", 17, "udp", 17, "ICMP", 1, "icmp", 1);

  private static final Map<String, Double> UNITS =
      Map.ofEntries(
          Map.entry("B", 1.0),
          Map.entry("KB", 1e3),
          Map.entry("MB", 1e6),
          Map.entry("GB", 1e9),
          Map.entry("TB", 1e12),
          Map.entry("KiB", 1024.0),
          Map.entry("MiB", 1048576.0),
          Map.entry("GiB", 1073741824.0),
          Map.entry("ns", 1.0),
          Map.entry("us", 1e3),
          Map.entry("ms", 1e6),
          Map.entry("s", 1e9),
          Map.entry("m", 60e9),
          Map.entry("h", 3600e9));

  private static final Pattern FORM = Pattern.compile("([0-9.]+)([A-Za-z]*)");
  private static final Pattern HEX = Pattern.compile("0[xX]([0-9a-fA-F]{1,16})");

  static Number of(BigInteger whole) {
    return new Number(whole, 0);
  }

  static Number of(double real) {
    return new Number(null, real);
  }

  /**
   * Parses a number, a name such as TCP, or hexadecimal digits after 0x, as
   * conditions/expr/literal.h does; a minus sign may precede. Converts units to bytes or ns.
   *
   * @param position position of the word in its text, for errors
   * @throws ConditionException if the word is not a number, or exceeds 64 bits
   */
  public static Number parse(String word, int position) throws ConditionException {
    return word.startsWith("-")
        ? ZERO.plus(-1, unsigned(word.substring(1), position))
        : unsigned(word, position);
  }

  private static Number unsigned(String word, int position) throws ConditionException {
    if (NAMES.containsKey(word)) {
      return of(BigInteger.valueOf(NAMES.get(word)));
    }
    Matcher hex = HEX.matcher(word);
    if (hex.matches()) {
      return of(new BigInteger(hex.group(1), 16));
    }
    Matcher form = FORM.matcher(word);
    boolean isKnown =
        form.matches() && (form.group(2).isEmpty() || UNITS.containsKey(form.group(2)));
    if (!isKnown) {
      throw new ConditionException(position, "'" + word + "' is not a number");
    }
    double factor = UNITS.getOrDefault(form.group(2), 1.0);
    try {
      return form.group(1).contains(".")
          ? real(Double.parseDouble(form.group(1)), factor)
          : whole(new BigInteger(form.group(1)), factor);
    } catch (NumberFormatException e) {
      throw new ConditionException(position, "'" + word + "' is not a number");
    }
  }

  private static Number whole(BigInteger value, double factor) {
    if (value.compareTo(MAX_U64) > 0) {
      throw new NumberFormatException("more than 64 bits");
    }
    return of(value.multiply(BigInteger.valueOf((long) factor)));
  }

  private static Number real(double value, double factor) {
    double product = value * factor;
    boolean isWhole = product == Math.floor(product) && product < MAX_EXACT_PRODUCT && factor != 1;
    return isWhole ? of(BigInteger.valueOf((long) product)) : of(product);
  }

  boolean isReal() {
    return whole == null;
  }

  /** Returns the nearest double. */
  public double asDouble() {
    return isReal() ? real : whole.doubleValue();
  }

  /** Adds a number, or subtracts it if the sign is -1; the result is real if either number is. */
  Number plus(int sign, Number other) {
    if (isReal() || other.isReal()) {
      return of(asDouble() + sign * other.asDouble());
    }
    return of(sign < 0 ? whole.subtract(other.whole) : whole.add(other.whole));
  }

  /** Returns a double's key, an unsigned number that sorts like the values; -1 for NaN. */
  static long key(double value) {
    if (Double.isNaN(value)) {
      return -1;
    }
    long bits = Double.doubleToRawLongBits(value == 0 ? 0.0 : value);
    return bits < 0 ? ~bits : bits | Long.MIN_VALUE;
  }
}
