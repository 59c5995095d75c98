package io.tapline.compiler.packets;

import static io.tapline.compiler.packets.TriggerExpression.step;

import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.schema.proto.ConditionStep;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The condition of a trigger, in postfix order.
 *
 * @param clear condition under which an alert stays active; if empty, {@code when}
 * @param unit unit of the compared value
 */
public record TriggerCondition(List<ConditionStep> when, List<ConditionStep> clear, String unit) {

  /**
   * Parses the arguments {@code when} and {@code clear}. {@code clear} is either a threshold that
   * replaces the one in {@code when}, or a condition that ends an alert.
   *
   * @param clear ignored if it is invalid, which TriggerReader reports
   * @param functions functions that both may call
   * @return empty if an argument is invalid, which is reported
   */
  public static Optional<TriggerCondition> read(
      Ast.Word when,
      Optional<Ast.Word> clear,
      TriggerExpression.Functions functions,
      Errors errors) {
    Optional<TriggerExpression> read = TriggerExpression.read("when", when, functions, errors);
    if (read.isEmpty()) {
      return Optional.empty();
    }
    Optional<Ast.Word> ending = clear.filter(TriggerCondition::isPossible);
    Optional<List<ConditionStep>> holdCondition =
        ending.isEmpty()
            ? Optional.of(List.of())
            : isThreshold(ending.get())
                ? replaced(read.get(), ending.get(), errors)
                : TriggerExpression.read("clear", ending.get(), functions, errors)
                    .map(TriggerExpression::negated);
    return holdCondition.map(
        steps -> new TriggerCondition(read.get().steps(), steps, read.get().unit()));
  }

  /** Returns true if {@code clear} is a threshold or, whatever its functions are, a condition. */
  public static boolean isPossible(Ast.Word clear) {
    return isThreshold(clear) || TriggerExpression.isCondition(clear.text());
  }

  /** Returns true if {@code clear} is a threshold instead of a condition. */
  public static boolean isThreshold(Ast.Word clear) {
    return Literals.threshold(clear.text()).isPresent();
  }

  /** Returns the steps of {@code when} with the threshold {@code clear}. */
  private static Optional<List<ConditionStep>> replaced(
      TriggerExpression when, Ast.Word clear, Errors errors) {
    if (!TriggerExpression.comparesOneNumber(when.steps())) {
      errors.type(
          clear.span(),
          "clear= can be a threshold only if when= compares one value with a number on its right",
          "a condition that ends the alert, such as clear=\"count < 10\"");
      return Optional.empty();
    }
    List<ConditionStep> steps = new ArrayList<>(when.steps());
    steps.set(steps.size() - 2, step(Literals.threshold(clear.text()).orElseThrow()));
    return Optional.of(steps);
  }
}
