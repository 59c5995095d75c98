package io.tapline.flink;

import io.tapline.flink.group.Exemplars;
import io.tapline.flink.group.Shape;
import io.tapline.schema.proto.Aggregate;
import io.tapline.schema.proto.Difference;
import io.tapline.schema.proto.FieldCondition;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Value;
import java.io.Serializable;
import java.math.BigInteger;
import java.util.List;
import java.util.Set;

/**
 * One processor of a plan, checked and with its times in nanoseconds.
 *
 * @param joinParser parser of the joined key fields; empty without a join
 * @param valueField numeric field that is aggregated; empty for counts and differences
 * @param conditions conditions on each tuple, for a value of 1 or 0; empty for other values
 * @param eventField field that marks start and end; empty unless differences are computed
 * @param rows rows kept of a ranking; 0 if every group is a result
 * @param sizeNs window size; 0 if the whole query is one window
 * @param paneNs greatest common divisor of size and slide
 * @param share share of a percentile
 * @param condition null if every group is a result
 * @param trigger null unless results are alerts
 * @param answers whether the parser's tuples record if they were answered
 */
public record ProcessorSpec(
    int index,
    String name,
    String parser,
    String joinParser,
    List<String> joinFields,
    List<String> key,
    String valueField,
    List<FieldCondition> conditions,
    String eventField,
    Set<String> starts,
    Set<String> ends,
    String unit,
    Aggregate aggregate,
    int rows,
    boolean ascending,
    long sizeNs,
    long slideNs,
    long paneNs,
    double share,
    ConditionSpec condition,
    TriggerSpec trigger,
    boolean answers)
    implements Serializable {

  private static final Set<Aggregate> COUNTABLE =
      Set.of(Aggregate.COUNT, Aggregate.SUM, Aggregate.RATE);

  /** A window with more panes would cost more to slide than to recompute. */
  static final long MOST_PANES = 100_000;

  static ProcessorSpec of(int index, Processor processor) {
    String name = processor.getName();
    Difference difference = processor.getValue().getDifference();
    Aggregate aggregate = aggregate(processor);
    long size = nanoseconds(name, "size", processor.getWindow().getSize());
    long slide = nanoseconds(name, "slide", processor.getWindow().getSlide());
    long pane = size == 0 ? slide : gcd(size, slide);
    check(slide > 0, name, "has a window without a slide");
    check(
        size > 0 || aggregate != Aggregate.RATE,
        name,
        "is a rate without a window: when it began is not known to all");
    check(size / pane <= MOST_PANES, name, "has a window of more than " + MOST_PANES + " slides");
    check(!processor.getParser().isEmpty(), name, "names no parser");
    return new ProcessorSpec(
        index,
        name,
        processor.getParser(),
        processor.getJoin().getParser(),
        List.copyOf(processor.getJoin().getFieldsList()),
        List.copyOf(processor.getKeyList()),
        processor.getValue().getField(),
        conditions(processor),
        difference.getEventField(),
        Set.copyOf(difference.getStartList()),
        Set.copyOf(difference.getEndList()),
        processor.getValue().getUnit(),
        aggregate,
        rows(processor),
        processor.getRanking().getAscending(),
        size,
        slide,
        pane,
        share(processor),
        processor.hasCondition() ? ConditionSpec.of(processor.getCondition()) : null,
        trigger(processor, size),
        processor.getAnswers());
  }

  private static List<FieldCondition> conditions(Processor processor) {
    List<FieldCondition> all = processor.getValue().getConditions().getAllList();
    boolean asks = processor.getValue().hasConditions();
    check(!asks || !all.isEmpty(), processor.getName(), "asks nothing of its tuples");
    for (FieldCondition condition : all) {
      check(!condition.getField().isEmpty(), processor.getName(), "has a condition of no field");
      check(condition.getValuesCount() > 0, processor.getName(), "has a condition of no value");
    }
    return List.copyOf(all);
  }

  private static double share(Processor processor) {
    double share = processor.getShare();
    check(
        processor.getAggregate() != Aggregate.PERCENTILE || share > 0 && share <= 1,
        processor.getName(),
        "asks for a share of " + share + ", which is not above 0 and at most 1");
    return share;
  }

  private static TriggerSpec trigger(Processor processor, long sizeNs) {
    if (!processor.hasTrigger()) {
      return null;
    }
    check(processor.hasCondition(), processor.getName(), "is a trigger without a condition");
    check(sizeNs > 0, processor.getName(), "is a trigger without a window");
    return TriggerSpec.of(processor.getTrigger());
  }

  private static int rows(Processor processor) {
    check(
        !processor.hasRanking() || processor.getRanking().getK() > 0,
        processor.getName(),
        "ranks no rows: k must be 1 or more");
    return processor.getRanking().getK();
  }

  private static Aggregate aggregate(Processor processor) {
    Aggregate aggregate = processor.getAggregate();
    check(aggregate != Aggregate.UNRECOGNIZED, processor.getName(), "has an unknown aggregate");
    boolean counts =
        processor.getValue().getKindCase() == Value.KindCase.COUNT
            || processor.getValue().getKindCase() == Value.KindCase.KIND_NOT_SET;
    check(
        !counts || COUNTABLE.contains(aggregate),
        processor.getName(),
        "asks for " + aggregate + " without a value");
    check(
        aggregate != Aggregate.DISTINCT || !processor.getValue().getField().isEmpty(),
        processor.getName(),
        "counts different values of no field");
    return counts && aggregate == Aggregate.SUM ? Aggregate.COUNT : aggregate;
  }

  private static long nanoseconds(String name, String part, com.google.protobuf.Duration duration) {
    long limit = Long.MAX_VALUE / 4 / 1_000_000_000;
    check(
        duration.getSeconds() >= 0 && duration.getSeconds() < limit && duration.getNanos() >= 0,
        name,
        "has a window " + part + " out of range");
    return duration.getSeconds() * 1_000_000_000 + duration.getNanos();
  }

  static long gcd(long a, long b) {
    return BigInteger.valueOf(a).gcd(BigInteger.valueOf(b)).max(BigInteger.ONE).longValueExact();
  }

  private static void check(boolean holds, String name, String fault) {
    if (!holds) {
      throw new IllegalArgumentException("plan: processor " + name + " " + fault);
    }
  }

  public Shape shape() {
    return Shape.of(aggregate, counts());
  }

  /** Returns true if each tuple counts as one instead of having a value. */
  public boolean counts() {
    return valueField.isEmpty() && eventField.isEmpty() && conditions.isEmpty();
  }

  /** Returns true if tuples with a value are counted, whatever the value. */
  public boolean countsPresent() {
    return aggregate == Aggregate.COUNT && !valueField.isEmpty();
  }

  /** Returns true if rows show how many of their tuples were not answered. */
  public boolean showsAnswers() {
    return answers && !isRanking() && trigger == null;
  }

  /** Returns true if the hashes of the values are aggregated. */
  public boolean isDistinct() {
    return aggregate == Aggregate.DISTINCT;
  }

  /** Returns true if rows show the distribution of their values. */
  public boolean showsDistribution() {
    return aggregate == Aggregate.DISTRIBUTION || aggregate == Aggregate.HISTOGRAM;
  }

  public boolean isRanking() {
    return rows > 0;
  }

  public boolean isWholeQuery() {
    return sizeNs == 0;
  }

  public boolean isDifference() {
    return !eventField.isEmpty();
  }

  public boolean isJoin() {
    return !joinParser.isEmpty();
  }

  /** Returns true if tuples wait for others of their flow before they count. */
  public boolean isPaired() {
    return isDifference() || isJoin();
  }

  /**
   * Returns the number of exemplars that a group keeps per pane; a window of several panes takes
   * more from the next.
   */
  public int exemplarsPerPane() {
    long panes = isWholeQuery() ? 1 : sizeNs / paneNs;
    return (int) Math.max(1, (Exemplars.MOST + panes - 1) / panes);
  }

  public long paneOf(long timeNs) {
    return Math.floorDiv(timeNs, paneNs);
  }
}
