package io.tapline.compiler;

import io.tapline.schema.proto.Condition;
import java.math.BigDecimal;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Conditions on a group: {@code sum(bytes) > 10MB}, {@code count >= 100}, {@code p99(first_byte_ns)
 * > 20ms}, {@code rate(bytes) > 1MB/s}.
 */
final class ConditionReader {
  private static final Pattern CONDITION =
      Pattern.compile(
          "\\s*([A-Za-z][\\w.]*)\\s*(?:\\(\\s*([\\w-]*)\\s*\\))?\\s*(>=|<=|>|<)\\s*(\\S+)\\s*");
  private static final Map<String, Condition.Comparison> COMPARISONS =
      Map.of(
          ">", Condition.Comparison.ABOVE,
          ">=", Condition.Comparison.AT_LEAST,
          "<", Condition.Comparison.BELOW,
          "<=", Condition.Comparison.AT_MOST);
  private static final String PER_SECOND = "/s";

  private ConditionReader() {}

  /**
   * @param aggregate as written, in lower case
   * @param field null if none was given
   */
  record Read(String aggregate, Ast.Word field, Condition condition) {}

  /** Empty, with an error, if it is none. */
  static Optional<Read> read(Ast.Word word, Errors errors) {
    Matcher matcher = CONDITION.matcher(word.text());
    Optional<Double> threshold = matcher.matches() ? threshold(matcher.group(4)) : Optional.empty();
    if (threshold.isEmpty()) {
      String message = "when is no condition: %s".formatted(Names.quoted(word.text()));
      errors.type(word.span(), message, "for example \"sum(bytes) > 10MB\" or \"count >= 100\"");
      return Optional.empty();
    }
    String field = matcher.group(2);
    Condition condition =
        Condition.newBuilder()
            .setComparison(COMPARISONS.get(matcher.group(3)))
            .setThreshold(threshold.get())
            .build();
    return Optional.of(
        new Read(
            Names.lower(matcher.group(1)),
            field == null || field.isEmpty() ? null : new Ast.Word(field, field, word.span()),
            condition));
  }

  /** A number, a size in bytes or a duration in nanoseconds, each perhaps per second. */
  static Optional<Double> threshold(String text) {
    String amount =
        text.endsWith(PER_SECOND) ? text.substring(0, text.length() - PER_SECOND.length()) : text;
    Optional<BigDecimal> number = Literals.number(amount);
    if (number.isEmpty()) {
      number = Literals.durationNs(amount);
    }
    if (number.isEmpty()) {
      number = Literals.sizeBytes(amount);
    }
    return number.map(BigDecimal::doubleValue);
  }
}
