package io.tapline.aggregates;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the contract of {@link MergeableAggregate} with every aggregate on the class path. */
class AggregatesTest {
  private static final int GROUPS = 5;
  private static final int VALUES = 4_000;

  static List<MergeableAggregate> all() {
    return Aggregates.all();
  }

  /** A table's accumulators, and each group's number of values. */
  private static final class Table {
    final Accumulators accumulators;
    final long[] tuples = new long[GROUPS];

    Table(MergeableAggregate aggregate, boolean isReal) {
      accumulators = aggregate.accumulators();
      if (isReal) {
        accumulators.holdReals();
      }
      accumulators.growTo(GROUPS);
    }

    void add(int[] groups, long[] values, int begin, int end) {
      accumulators.add(groups, values, begin, end);
      for (int i = begin; i < end; i++) {
        tuples[groups[i]]++;
      }
    }

    void merge(Table other) {
      for (int group = 0; group < GROUPS; group++) {
        accumulators.merge(group, other.accumulators, group);
        tuples[group] += other.tuples[group];
      }
    }

    Value result(int group) {
      return accumulators.result(group, new Whole(tuples[group], accumulators.isReal(), false));
    }

    Details details(int group) {
      return accumulators.details(group, new Whole(tuples[group], accumulators.isReal(), false));
    }
  }

  /** A group with or without sampling. */
  private record Whole(long tuples, boolean isReal, boolean isSampled) implements Group {
    @Override
    public boolean countsTuples() {
      return false;
    }

    @Override
    public double share() {
      return 0.9;
    }

    @Override
    public long windowNs() {
      return 2_000_000_000L;
    }

    @Override
    public Value count() {
      return Value.whole(tuples);
    }

    @Override
    public Value total(Value sum) {
      return sum;
    }

    @Override
    public Value mean(Value sum) {
      return Value.real(sum.number() / tuples);
    }
  }

  /** Returns numbers so small that their sums, even as doubles, do not depend on their order. */
  private static long[] values(Random random, boolean isReal) {
    return random
        .longs(VALUES, 0, 1_000)
        .map(value -> isReal ? Double.doubleToLongBits(value / 4.0) : value)
        .toArray();
  }

  @ParameterizedTest
  @MethodSource("all")
  void mergedPartsEqualTheWhole(MergeableAggregate aggregate) throws IOException {
    for (boolean isReal : new boolean[] {false, true}) {
      Random random = new Random(7);
      int[] groups = random.ints(VALUES, 0, GROUPS).toArray();
      long[] values = values(random, isReal);
      Table wholeTable = new Table(aggregate, isReal);
      wholeTable.add(groups, values, 0, VALUES);
      Table merged = new Table(aggregate, isReal);
      Table read = new Table(aggregate, isReal);
      for (int end = VALUES; end > 0; ) {
        int begin = Math.max(0, end - 1 - random.nextInt(500));
        Table part = new Table(aggregate, isReal);
        part.add(groups, values, begin, end);
        merged.merge(part);
        read(part, read);
        end = begin;
      }
      for (int group = 0; group < GROUPS; group++) {
        assertThat(merged.result(group)).isEqualTo(wholeTable.result(group));
        assertThat(merged.details(group)).isEqualTo(wholeTable.details(group));
        assertThat(read.result(group)).isEqualTo(wholeTable.result(group));
        assertThat(read.details(group)).isEqualTo(wholeTable.details(group));
        double glance = wholeTable.accumulators.glance(group, wholeTable.tuples[group]);
        assertThat(glance).isIn(wholeTable.result(group).number(), Double.NaN);
      }
    }
  }

  private static void read(Table source, Table target) throws IOException {
    for (int group = 0; group < GROUPS; group++) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      source.accumulators.write(new DataOutputStream(bytes), group);
      DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes.toByteArray()));
      target.accumulators.read(in, group);
      assertThat(in.available()).isZero();
      target.tuples[group] += source.tuples[group];
    }
  }

  @ParameterizedTest
  @MethodSource("all")
  void subtractingUndoesMerging(MergeableAggregate aggregate) {
    Random random = new Random(3);
    int[] groups = random.ints(VALUES, 0, GROUPS).toArray();
    long[] values = values(random, false);
    Table all = new Table(aggregate, false);
    Table first = new Table(aggregate, false);
    Table second = new Table(aggregate, false);
    first.add(groups, values, 0, VALUES / 2);
    second.add(groups, values, VALUES / 2, VALUES);
    if (!all.accumulators.isSubtractable()) {
      return;
    }
    all.merge(first);
    all.merge(second);
    for (int group = 0; group < GROUPS; group++) {
      all.accumulators.subtract(group, first.accumulators, group);
      all.tuples[group] -= first.tuples[group];
      assertThat(all.result(group)).isEqualTo(second.result(group));
    }
  }

  /** Skips counts, totals and means, whose bounds the table computes. */
  @ParameterizedTest
  @MethodSource("all")
  void resultsOfSampledTuplesAreNeverMarkedExact(MergeableAggregate aggregate) {
    if (aggregate.estimatesTotals() || aggregate.input() == MergeableAggregate.Input.TUPLES) {
      return;
    }
    Table table = new Table(aggregate, false);
    table.add(new int[] {0, 0, 0}, new long[] {3, 7, 9}, 0, 3);
    Value value = table.accumulators.result(0, new Whole(3, false, true));
    assertThat(value.low() == value.high()).as(value.toString()).isFalse();
  }

  @Test
  void namesIgnoreCase() {
    assertThat(Aggregates.named("SUM")).isSameAs(Aggregates.named("sum"));
    assertThat(Aggregates.find("median")).isEmpty();
  }
}
