package io.tapline.flink;

import io.tapline.aggregates.MergeableAggregate.Input;
import io.tapline.flink.group.Estimate;
import io.tapline.flink.group.Exemplars;
import io.tapline.flink.group.GroupTable;
import io.tapline.schema.proto.Processor;
import java.io.Serializable;

/**
 * A validated processor of a plan. It maps a parser's tuples to keys and values, aggregates the
 * values by window, and selects rows from the results.
 *
 * @param ranking null unless groups are ranked
 * @param condition condition that a group's value must meet; null for none
 * @param trigger null unless results are alerts
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
    boolean answers)
    implements Serializable {

  static ProcessorSpec of(int index, Processor processor) {
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
        processor.getAnswers());
  }

  private static TriggerSpec trigger(Processor processor, WindowSpec window) {
    if (!processor.hasTrigger()) {
      return null;
    }
    check(processor.hasCondition(), processor.getName(), "is a trigger without a condition");
    check(!window.isWholeQuery(), processor.getName(), "is a trigger without a window");
    return TriggerSpec.of(processor.getTrigger());
  }

  static void check(boolean holds, String name, String fault) {
    if (!holds) {
      throw new IllegalArgumentException("plan: processor " + name + " " + fault);
    }
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
   * its panes' exemplars.
   */
  private int exemplarsPerPane() {
    return (int) Math.max(1, (Exemplars.MAX_EXEMPLARS + window.panes() - 1) / window.panes());
  }
}
