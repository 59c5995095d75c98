package io.tapline.flink;

import io.tapline.aggregates.Aggregates;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.aggregates.MergeableAggregate.Input;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Value;
import java.io.Serializable;
import java.util.Optional;
import java.util.Set;

/**
 * The aggregate of a processor.
 *
 * @param share fraction of the values below the quantile ({@code p=}), for quantile aggregates
 */
public record AggregateSpec(String name, double share) implements Serializable {
  private static final String COUNT = "count";
  private static final String SUM = "sum";

  /** Aggregates that can count tuples instead of reading a value. */
  private static final Set<String> COUNTABLE = Set.of(COUNT, SUM, "rate");

  static AggregateSpec of(Processor processor) {
    String requested = processor.getAggregate().isEmpty() ? COUNT : processor.getAggregate();
    Optional<MergeableAggregate> aggregate = Aggregates.find(requested);
    ProcessorSpec.check(
        aggregate.isPresent(), processor.getName(), "has an unknown aggregate: " + requested);
    MergeableAggregate type = aggregate.orElseThrow();
    boolean counts =
        processor.getValue().getKindCase() == Value.KindCase.COUNT
            || processor.getValue().getKindCase() == Value.KindCase.KIND_NOT_SET;
    ProcessorSpec.check(
        !counts || COUNTABLE.contains(type.name()),
        processor.getName(),
        "has the aggregate " + requested + ", which requires a value");
    ProcessorSpec.check(
        type.input() != Input.HASHES || !processor.getValue().getField().isEmpty(),
        processor.getName(),
        "counts distinct values, but names no field");
    double share = processor.getShare();
    ProcessorSpec.check(
        !type.takesShare() || share > 0 && share <= 1,
        processor.getName(),
        "has p=" + share + ", which must be greater than 0 and at most 1");
    return new AggregateSpec(counts && type.name().equals(SUM) ? COUNT : type.name(), share);
  }

  public MergeableAggregate type() {
    return Aggregates.named(name);
  }
}
