package io.tapline.aggregates.distinct;

import io.tapline.aggregates.Accumulators;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.aggregates.PerGroup;

/** The number of a field's distinct values, which may have any type. */
public final class Distinct implements MergeableAggregate {
  @Override
  public String name() {
    return "distinct";
  }

  @Override
  public String description() {
    return "the number of distinct values of a field";
  }

  @Override
  public Input input() {
    return Input.HASHES;
  }

  @Override
  public String unit(String ofValues) {
    return "count";
  }

  @Override
  public Accumulators accumulators() {
    return PerGroup.ofHashes(Hashes::new);
  }
}
