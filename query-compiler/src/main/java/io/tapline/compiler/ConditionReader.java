package io.tapline.compiler;

import io.tapline.compiler.packets.TriggerExpression;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.schema.proto.Condition;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parses group conditions: {@code sum(bytes) > 10MB}, {@code count >= 100}, {@code
 * p99(first_byte_ns) > 20ms}, {@code rate(bytes) > 1MB/s}, {@code share(status >= 500) > 0.2}.
 */
final class ConditionReader {
  private static final Pattern CONDITION =
      Pattern.compile("\\s*([A-Za-z][\\w.]*)\\s*(?:\\((.*)\\))?\\s*(>=|<=|>|<)\\s*(\\S+)\\s*");
  private static final Pattern NAME = Pattern.compile("[\\w-]*");
  private static final Map<String, Condition.Comparison> COMPARISONS =
      Map.of(
          ">", Condition.Comparison.ABOVE,
          ">=", Condition.Comparison.AT_LEAST,
          "<", Condition.Comparison.BELOW,
          "<=", Condition.Comparison.AT_MOST);

  private ConditionReader() {}

  /**
   * An aggregate of a group's tuples.
   *
   * @param aggregate name of the aggregate, in lower case
   * @param field field of the aggregate; null if missing
   * @param tuples condition on tuples instead of a field; null if there is none
   */
  record Call(String aggregate, Ast.Word field, ParsedCondition tuples) {}

  /** A parsed group condition: an aggregate that is compared with a number. */
  record Read(Call call, Condition condition) {}

  /** Parses a condition. Reports an error and returns nothing if the word is not a condition. */
  static Optional<Read> read(Ast.Word word, Errors errors) {
    Matcher matcher = CONDITION.matcher(word.text());
    Optional<Double> threshold =
        matcher.matches() ? Literals.threshold(matcher.group(4)) : Optional.empty();
    if (threshold.isEmpty() && TriggerExpression.isCondition(word.text())) {
      String message = "when= can only compare one value with a number here, not %s";
      errors.type(
          word.span(),
          message.formatted(Names.quoted(word.text())),
          "for example \"count >= 100\"");
      return Optional.empty();
    } else if (threshold.isEmpty()) {
      String message = "when= is not a valid condition: %s".formatted(Names.quoted(word.text()));
      errors.type(word.span(), message, "for example \"sum(bytes) > 10MB\" or \"count >= 100\"");
      return Optional.empty();
    }
    Condition condition =
        Condition.newBuilder()
            .setComparison(COMPARISONS.get(matcher.group(3)))
            .setThreshold(threshold.get())
            .build();
    String inside = matcher.group(2) == null ? "" : matcher.group(2).strip();
    return call(Names.lower(matcher.group(1)), inside, word, errors)
        .map(call -> new Read(call, condition));
  }

  /**
   * Parses the argument of an aggregate: nothing, a field, or a condition on tuples. Reports an
   * error and returns nothing if it is none of these.
   *
   * @param word argument of the processor that contains the aggregate
   */
  static Optional<Call> call(String aggregate, String inside, Ast.Word word, Errors errors) {
    if (NAME.matcher(inside).matches()) {
      Ast.Word field = inside.isEmpty() ? null : new Ast.Word(inside, inside, word.span());
      return Optional.of(new Call(aggregate, field, null));
    }
    return tuples(inside, word, errors).map(tuples -> new Call(aggregate, null, tuples));
  }

  /** Parses a condition in the language of WHERE. */
  private static Optional<ParsedCondition> tuples(String text, Ast.Word word, Errors errors) {
    Optional<ParsedCondition> parsed = ParsedCondition.within(word, text);
    if (parsed.isEmpty()) {
      String message = "%s is not a valid condition on tuples".formatted(Names.quoted(text));
      errors.type(word.span(), message, "for example \"share(status >= 500) > 0.2\"");
    }
    return parsed;
  }
}
