package io.tapline.compiler.catalogue;

import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import java.math.BigDecimal;
import java.util.List;

/**
 * An argument that a parser takes in PARSE: {@code queue_flows(delay=500us)}.
 *
 * @param type any but {@code ADDRESS}
 * @param unit "ns", "bytes"…; empty for plain numbers and strings
 * @param defaultValue default, in the format of {@code ParserArgument.value}
 * @param min smallest value of a number
 * @param max largest value of a number
 * @param choices valid values of a string
 * @param step number whose multiples are valid; 1 for no restriction
 */
public record ParserArgumentInfo(
    String name,
    FieldInfo.Type type,
    String unit,
    String description,
    String defaultValue,
    BigDecimal min,
    BigDecimal max,
    List<String> choices,
    long step) {

  public ParserArgumentInfo {
    choices = List.copyOf(choices);
  }

  /**
   * Converts a value from the format of {@code ParserArgument.value} to the format that queries
   * use.
   */
  public String asWritten(String value) {
    return asWritten(value, unit);
  }

  public static String asWritten(String value, String unit) {
    return unit.equals("ns") ? Literals.durationText(new BigDecimal(value).longValue()) : value;
  }

  /** Returns the valid values, as text for users. */
  public String expected() {
    return switch (type) {
      case BOOL -> "true or false";
      case STRING, ADDRESS -> Names.either(choices);
      case U64, I64, F64 ->
          "%s from %s to %s".formatted(kind(), bound(min), bound(max))
              + (unit.isEmpty() || unit.equals("ns") ? "" : " " + unit)
              + (step == 1 ? "" : ", in steps of " + asWritten(Long.toString(step)));
    };
  }

  /** Returns true if a number is within the bounds and a multiple of the step. */
  public boolean accepts(BigDecimal number) {
    boolean inside = number.compareTo(min) >= 0 && number.compareTo(max) <= 0;
    return inside && (step == 1 || number.remainder(BigDecimal.valueOf(step)).signum() == 0);
  }

  private String kind() {
    return switch (unit) {
      case "ns" -> "a duration";
      case "bytes" -> "a size";
      default -> type == FieldInfo.Type.F64 ? "a number" : "a whole number";
    };
  }

  private String bound(BigDecimal bound) {
    return asWritten(bound.stripTrailingZeros().toPlainString());
  }
}
