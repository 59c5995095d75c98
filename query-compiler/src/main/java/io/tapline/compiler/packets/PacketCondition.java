package io.tapline.compiler.packets;

import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.Condition;
import io.tapline.schema.proto.PacketStep;
import io.tapline.schema.proto.PacketStep.Measure;
import io.tapline.schema.proto.PacketStep.Operator;
import io.tapline.schema.proto.Processor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The condition of a trigger that the monitor tests on packets, in postfix order.
 *
 * @param clear condition that an alert in force must meet; empty: {@code when}
 * @param burstNs length of the spans that bursts are counted in; 0 without bursts
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

  /** Returns the condition of a trigger that compares a sum of bytes or packets. */
  public static PacketCondition ofSum(Measure measure, Processor trigger) {
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
   * Parses the arguments {@code when} and {@code clear}.
   *
   * @param windowNs length of the windows
   */
  public static Optional<PacketCondition> read(
      Ast.Word when, Optional<Ast.Word> clear, long windowNs, Errors errors) {
    PacketExpression read;
    try {
      read = PacketExpression.parse(when.text(), windowNs);
    } catch (PacketExpression.Fault fault) {
      errors.add(
          when.span(), QueryError.Code.TYPE, "when: " + fault.getMessage(), fault.expected(), "");
      return Optional.empty();
    }
    List<PacketStep> steps = read.steps();
    if (clear.isEmpty()) {
      return Optional.of(new PacketCondition(steps, List.of(), read.burstNs(), read.unit()));
    }
    Optional<Double> threshold = Literals.threshold(clear.get().text());
    if (threshold.isEmpty() || !read.comparesOneNumber()) {
      errors.type(
          clear.get().span(),
          "clear replaces the number of a when= with one comparison",
          "a number, size or duration, and when= such as \"sum(bytes) > 10MB\"");
      return Optional.empty();
    }
    List<PacketStep> clearing = new ArrayList<>(steps);
    clearing.set(steps.size() - 2, step(threshold.get()));
    return Optional.of(new PacketCondition(steps, clearing, read.burstNs(), read.unit()));
  }

  /** Returns true if a group without packets meets it. */
  public boolean isTrueWithoutPackets() {
    return PacketExpression.isTrueWithoutPackets(when)
        || !clear.isEmpty() && PacketExpression.isTrueWithoutPackets(clear);
  }

  /**
   * Returns the name of a value that can't be added up over the parts of a window, if it has one.
   */
  public Optional<String> unsummed() {
    return Stream.concat(when.stream(), clear.stream())
        .filter(PacketStep::hasMeasure)
        .flatMap(step -> Optional.ofNullable(UNSUMMED.get(step.getMeasure())).stream())
        .findFirst();
  }

  static PacketStep step(Measure measure) {
    return PacketStep.newBuilder().setMeasure(measure).build();
  }

  static PacketStep step(double constant) {
    return PacketStep.newBuilder().setConstant(constant).build();
  }

  static PacketStep step(Operator operator) {
    return PacketStep.newBuilder().setOperator(operator).build();
  }
}
