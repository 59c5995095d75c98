package io.tapline.compiler.packets;

import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.schema.proto.Condition;
import io.tapline.schema.proto.ConditionStep;
import io.tapline.schema.proto.ConditionStep.Measure;
import io.tapline.schema.proto.ConditionStep.Operator;
import io.tapline.schema.proto.PacketQuantile;
import io.tapline.schema.proto.Processor;
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
    List<ConditionStep> when, List<ConditionStep> clear, long burstNs, String unit) {
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

  private static List<ConditionStep> compared(Measure measure, double number, Operator operator) {
    return List.of(step(measure), TriggerExpression.step(number), TriggerExpression.step(operator));
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
    return TriggerCondition.read(when, clear, measures, errors)
        .map(
            read ->
                new PacketCondition(read.when(), read.clear(), measures.burstNs(), read.unit()));
  }

  /** Returns true if a text can be a condition on packets. */
  public static boolean isCondition(Ast.Word text) {
    PacketMeasures measures = new PacketMeasures(ANY_WINDOW_NS);
    return TriggerExpression.read("when", text, measures, new Errors()).isPresent();
  }

  /**
   * Returns the name of a value that can't be added up over the parts of a window, if the condition
   * compares one.
   */
  public Optional<String> unsummed() {
    return Stream.concat(when.stream(), clear.stream())
        .filter(ConditionStep::hasMeasure)
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
    return TriggerExpression.comparesOneNumber(when)
        && rising.contains(when.get(when.size() - 1).getOperator());
  }

  /** Returns true if two comparisons with a number are the same but for that number. */
  private static boolean differsInNumber(List<ConditionStep> one, List<ConditionStep> other) {
    return TriggerExpression.comparesOneNumber(other)
        && one.size() == other.size()
        && one.subList(0, one.size() - 2).equals(other.subList(0, one.size() - 2))
        && one.get(one.size() - 1).equals(other.get(one.size() - 1));
  }

  private static double compared(List<ConditionStep> comparison) {
    return comparison.get(comparison.size() - 2).getConstant();
  }

  static ConditionStep step(Measure measure) {
    return ConditionStep.newBuilder().setMeasure(measure).build();
  }

  static ConditionStep step(Measure measure, double share) {
    return ConditionStep.newBuilder()
        .setQuantile(PacketQuantile.newBuilder().setMeasure(measure).setShare(share))
        .build();
  }
}
