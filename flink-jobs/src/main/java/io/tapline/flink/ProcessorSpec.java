package io.tapline.flink;

import io.tapline.aggregates.MergeableAggregate.Input;
import io.tapline.flink.group.Estimate;
import io.tapline.flink.group.Exemplars;
import io.tapline.flink.group.GroupTable;
import io.tapline.schema.proto.Operand;
import io.tapline.schema.proto.Processor;
import java.io.Serializable;
import java.util.List;

/**
 * A validated processor of a plan. It maps a parser's tuples to keys and values, aggregates the
 * values by window, and selects rows from the results.
 *
 * @param ranking null unless groups are ranked
 * @param condition condition that a group's value must meet; null for none
 * @param trigger null unless results are alerts
 * @param operands further values of the groups, in the same windows, that {@code when} combines
 * @param when condition on the processor's value (number 0) and the operands (from 1), instead of
 *     {@code condition}; null for none
 * @param clear condition under which an alert lasts; null for {@code when}
 * @param isOperand whether this is an operand of a trigger
 * @param answers whether the parser's tuples record whether their requests were answered
 */
public record ProcessorSpec(
    int index,
    String name,
    String parser,
    KeySpec key,
    ValueSpec value,
    AggregateSpec aggregate,
    WindowSpec window,
    RankingSpec ranking,
    ConditionSpec condition,
    TriggerSpec trigger,
    List<ProcessorSpec> operands,
    ExpressionSpec when,
    ExpressionSpec clear,
    boolean isOperand,
    boolean answers)
    implements Serializable {

  private static final int MAX_OPERANDS = 3;

  static ProcessorSpec of(int index, Processor processor) {
    return of(index, processor, false);
  }

  private static ProcessorSpec of(int index, Processor processor, boolean isOperand) {
    check(!processor.getParser().isEmpty(), processor.getName(), "does not name a parser");
    AggregateSpec aggregate = AggregateSpec.of(processor);
    WindowSpec window = WindowSpec.of(processor, aggregate);
    return new ProcessorSpec(
        index,
        processor.getName(),
        processor.getParser(),
        KeySpec.of(processor),
        ValueSpec.of(processor),
        aggregate,
        window,
        processor.hasRanking() ? RankingSpec.of(processor) : null,
        processor.hasCondition() ? ConditionSpec.of(processor.getCondition()) : null,
        trigger(processor, window),
        operands(index, processor),
        ExpressionSpec.of(processor.getWhenList(), values(processor), processor.getName()),
        ExpressionSpec.of(processor.getClearList(), values(processor), processor.getName()),
        isOperand,
        processor.getAnswers());
  }

  private static int values(Processor processor) {
    return 1 + processor.getOperandsCount();
  }

  private static List<ProcessorSpec> operands(int index, Processor processor) {
    String name = processor.getName();
    check(processor.getOperandsCount() <= MAX_OPERANDS, name, "has too many operands");
    check(
        processor.getOperandsCount() == 0 || processor.getWhenCount() > 0,
        name,
        "has operands, but no condition on them");
    check(
        processor.getClearCount() == 0 || processor.getWhenCount() > 0,
        name,
        "has `clear`, but no `when`");
    return processor.getOperandsList().stream()
        .map(operand -> of(index, operand(processor, operand), true))
        .toList();
  }

  /** Returns a processor that aggregates only an operand's values. */
  private static Processor operand(Processor processor, Operand operand) {
    return Processor.newBuilder()
        .setName(processor.getName())
        .setParser(processor.getParser())
        .addAllKey(processor.getKeyList())
        .setWindow(processor.getWindow())
        .setValue(operand.getValue())
        .setAggregate(operand.getAggregate())
        .setShare(operand.getShare())
        .build();
  }

  private static TriggerSpec trigger(Processor processor, WindowSpec window) {
    if (!processor.hasTrigger()) {
      check(processor.getWhenCount() == 0, processor.getName(), "has `when`, but no trigger");
      return null;
    }
    boolean isConditional = processor.hasCondition() || processor.getWhenCount() > 0;
    check(isConditional, processor.getName(), "is a trigger without a condition");
    check(
        processor.getWhenCount() == 0 || !processor.hasJoin() && !processor.hasCondition(),
        processor.getName(),
        "has a join or a second condition beside its condition on several values");
    check(!window.isWholeQuery(), processor.getName(), "is a trigger without a window");
    return TriggerSpec.of(processor.getTrigger());
  }

  static void check(boolean holds, String name, String fault) {
    if (!holds) {
      throw new IllegalArgumentException("plan: processor " + name + " " + fault);
    }
  }

  /** Returns the memory that a group takes, in units of a count's. */
  public int weight() {
    return aggregate.type().weight() + operands.stream().mapToInt(ProcessorSpec::weight).sum();
  }

  /** Returns an empty table for the processor's groups. */
  public GroupTable table() {
    return new GroupTable(aggregate.type(), exemplarsPerPane());
  }

  /**
   * Returns an estimate of the processor's results from a table.
   *
   * @param width width of the bounds in standard deviations
   * @param windowNs length of the window
   */
  public Estimate estimate(GroupTable table, double width, long windowNs) {
    return table.estimate(width, aggregate.share(), windowNs, value.countsTuples());
  }

  /** Returns true if the processor only counts the tuples in which a field has a value. */
  public boolean countsPresent() {
    return aggregate.type().input() == Input.TUPLES && !value.field().isEmpty();
  }

  /** Returns true if the values' hashes are aggregated instead of the values. */
  public boolean takesHashes() {
    return aggregate.type().input() == Input.HASHES;
  }

  /** Returns true if rows show the number of their unanswered requests. */
  public boolean showsAnswers() {
    return answers && !isRanking() && trigger == null;
  }

  public boolean isRanking() {
    return ranking != null;
  }

  /** Returns true if the smallest values come first. */
  public boolean isAscending() {
    return isRanking() && ranking.ascending();
  }

  /** Returns the number of rows kept, at most {@code max}. */
  public int rows(int max) {
    return isRanking() ? Math.min(ranking.rows(), max) : max;
  }

  /** Returns true if tuples wait for others of their flow before they are counted. */
  public boolean isPaired() {
    return value.isDifference() || key.isJoin();
  }

  /**
   * Returns the number of exemplars that a group keeps per pane. A window of several panes combines
   * its panes' exemplars. Alerts show those of the trigger's own value.
   */
  private int exemplarsPerPane() {
    if (isOperand) {
      return 0;
    }
    return (int) Math.max(1, (Exemplars.MAX_EXEMPLARS + window.panes() - 1) / window.panes());
  }
}
