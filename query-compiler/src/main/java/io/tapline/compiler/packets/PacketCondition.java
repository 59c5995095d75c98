package io.tapline.compiler.packets;

import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.Condition;
import io.tapline.schema.proto.PacketQuantile;
import io.tapline.schema.proto.PacketStep;
import io.tapline.schema.proto.PacketStep.Measure;
import io.tapline.schema.proto.PacketStep.Operator;
import io.tapline.schema.proto.Processor;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The condition of a trigger that the monitor tests on packets, in postfix order.
 *
 * @param clear condition under which an alert stays active; if empty, {@code when}
 * @param burstNs length of the spans in which bursts are counted; 0 if there are no bursts
 * @param unit unit of the compared value
 */
public record PacketCondition(
    List<PacketStep> when, List<PacketStep> clear, long burstNs, String unit) {
  private static final Map<Condition.Comparison, Operator> OPERATORS =
      Map.of(
          Condition.Comparison.ABOVE, Operator.GREATER,
          Condition.Comparison.AT_LEAST, Operator.GREATER_EQUAL,
          Condition.Comparison.BELOW, Operator.LESS,
          Condition.Comparison.AT_MOST, Operator.LESS_EQUAL);

  private static final Map<Measure, String> UNSUMMED =
      Map.of(
          Measure.BURST, "burst(bytes)",
          Measure.IN_FLIGHT_BYTES, "sum(in_flight_bytes)",
          Measure.UNACKED_BYTES, "sum(unacked_bytes)");

  /** A window length that is longer than any burst. */
  private static final long ANY_WINDOW_NS = Long.MAX_VALUE;

  /** Converts the condition of a trigger on tuples that compares one measure with a number. */
  public static PacketCondition of(Measure measure, Processor trigger) {
    Operator operator = OPERATORS.get(trigger.getCondition().getComparison());
    double threshold = trigger.getCondition().getThreshold();
    double clear = trigger.getTrigger().getClear();
    return new PacketCondition(
        compared(measure, threshold, operator),
        clear == threshold ? List.of() : compared(measure, clear, operator),
        0,
        trigger.getValue().getUnit());
  }

  private static List<PacketStep> compared(Measure measure, double number, Operator operator) {
    return List.of(step(measure), step(number), step(operator));
  }

  /**
   * Parses the arguments {@code when} and {@code clear}. {@code clear} is either a threshold that
   * replaces the one in {@code when}, or a condition that ends an alert.
   *
   * @param windowNs length of the windows
   * @return empty if an argument is invalid, which is reported
   */
  public static Optional<PacketCondition> read(
      Ast.Word when, Optional<Ast.Word> clear, long windowNs, Errors errors) {
    PacketMeasures measures = new PacketMeasures(windowNs);
    Optional<PacketExpression> read = parse("when", when, measures, errors);
    if (read.isEmpty()) {
      return Optional.empty();
    }
    Optional<List<PacketStep>> holdCondition =
        clear.isEmpty()
            ? Optional.of(List.of())
            : isThreshold(clear.get())
                ? replaced(read.get(), clear.get(), errors)
                : parse("clear", clear.get(), measures, errors).map(PacketExpression::negated);
    return holdCondition.map(
        steps ->
            new PacketCondition(read.get().steps(), steps, measures.burstNs(), read.get().unit()));
  }

  private static Optional<PacketExpression> parse(
      String argument, Ast.Word word, PacketMeasures measures, Errors errors) {
    try {
      return Optional.of(PacketExpression.parse(word.text(), measures));
    } catch (PacketExpression.Fault fault) {
      String message = argument + ": " + fault.getMessage();
      errors.add(word.span(), QueryError.Code.TYPE, message, fault.expected(), "");
      return Optional.empty();
    }
  }

  /** Returns true if {@code clear} is a threshold instead of a condition. */
  public static boolean isThreshold(Ast.Word clear) {
    return Literals.threshold(clear.text()).isPresent();
  }

  /** Returns true if {@code clear} can be a condition on packets. */
  public static boolean isCondition(Ast.Word clear) {
    PacketMeasures measures = new PacketMeasures(ANY_WINDOW_NS);
    return parse("clear", clear, measures, new Errors()).isPresent();
  }

  /** Returns the steps of {@code when} with the threshold {@code clear}. */
  private static Optional<List<PacketStep>> replaced(
      PacketExpression when, Ast.Word clear, Errors errors) {
    if (!PacketExpression.comparesOneNumber(when.steps())) {
      errors.type(
          clear.span(),
          "clear= can be a threshold only if when= is one comparison with a number",
          "a condition that ends the alert, such as clear=\"count < 10\"");
      return Optional.empty();
    }
    List<PacketStep> steps = new ArrayList<>(when.steps());
    steps.set(steps.size() - 2, step(Literals.threshold(clear.text()).orElseThrow()));
    return Optional.of(steps);
  }

  /**
   * Returns the name of a value that can't be added up over the parts of a window, if the condition
   * compares one.
   */
  public Optional<String> unsummed() {
    return Stream.concat(when.stream(), clear.stream())
        .filter(PacketStep::hasMeasure)
        .flatMap(step -> Optional.ofNullable(UNSUMMED.get(step.getMeasure())).stream())
        .findFirst();
  }

  /**
   * A condition on a value that several monitors compute together.
   *
   * @param aggregate name of the aggregate that combines the monitors' values
   * @param clear threshold below which an alert ends
   */
  public record Combined(String aggregate, Condition condition, double clear) {}

  /**
   * Returns the condition that the stream job tests if several monitors capture the packets; empty
   * if their values can't be combined.
   */
  public Optional<Combined> combined() {
    if (!isRisingComparison() || !clear.isEmpty() && !differsInNumber(when, clear)) {
      return Optional.empty();
    }
    Condition.Comparison comparison =
        when.get(when.size() - 1).getOperator() == Operator.GREATER
            ? Condition.Comparison.ABOVE
            : Condition.Comparison.AT_LEAST;
    double threshold = compared(when);
    return PartialValues.aggregate(when.subList(0, when.size() - 2))
        .map(
            aggregate ->
                new Combined(
                    aggregate,
                    Condition.newBuilder()
                        .setComparison(comparison)
                        .setThreshold(threshold)
                        .build(),
                    clear.isEmpty() ? threshold : compared(clear)));
  }

  /** Returns true if {@code when} is one comparison, by {@code >} or {@code >=}, with a number. */
  private boolean isRisingComparison() {
    Set<Operator> rising = EnumSet.of(Operator.GREATER, Operator.GREATER_EQUAL);
    return PacketExpression.comparesOneNumber(when)
        && rising.contains(when.get(when.size() - 1).getOperator());
  }

  /** Returns true if two comparisons with a number are the same but for that number. */
  private static boolean differsInNumber(List<PacketStep> one, List<PacketStep> other) {
    return PacketExpression.comparesOneNumber(other)
        && one.size() == other.size()
        && one.subList(0, one.size() - 2).equals(other.subList(0, one.size() - 2))
        && one.get(one.size() - 1).equals(other.get(one.size() - 1));
  }

  private static double compared(List<PacketStep> comparison) {
    return comparison.get(comparison.size() - 2).getConstant();
  }

  static PacketStep step(Measure measure) {
    return PacketStep.newBuilder().setMeasure(measure).build();
  }

  static PacketStep step(Measure measure, double share) {
    return PacketStep.newBuilder()
        .setQuantile(PacketQuantile.newBuilder().setMeasure(measure).setShare(share))
        .build();
  }

  static PacketStep step(double constant) {
    return PacketStep.newBuilder().setConstant(constant).build();
  }

  static PacketStep step(Operator operator) {
    return PacketStep.newBuilder().setOperator(operator).build();
  }
}
