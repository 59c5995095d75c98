package io.tapline.flink.group;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.aggregates.Aggregates;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class GroupTableTest {
  @Test
  void sumsSaturateInsteadOfWrapping() {
    GroupTable table = new GroupTable(Aggregates.named("sum"));
    int entry = table.findOrAdd(key(1), Key.hash(key(1)));
    table.addValue(entry, Long.MAX_VALUE);
    table.addValue(entry, 5);
    assertThat(table.estimate().of(entry).exact()).isEqualTo(Long.MAX_VALUE);
    assertThat(table.isSubtractable()).isFalse();
  }

  @Test
  void realsAreSummedAndOrderedAsDoubles() {
    for (double[] values : new double[][] {{-1.5, 2.25, 0.5}, {-3, -2}}) {
      double sum = java.util.Arrays.stream(values).sum();
      double min = java.util.Arrays.stream(values).min().orElseThrow();
      double max = java.util.Arrays.stream(values).max().orElseThrow();
      assertThat(result("sum", values)).isEqualTo(sum);
      assertThat(result("avg", values)).isEqualTo(sum / values.length);
      assertThat(result("min", values)).isEqualTo(min);
      assertThat(result("max", values)).isEqualTo(max);
    }
  }

  private static double result(String aggregate, double[] values) {
    GroupTable table = new GroupTable(Aggregates.named(aggregate));
    table.holdReals();
    for (double value : values) {
      table.addValue(table.findOrAdd(key(0), Key.hash(key(0))), Double.doubleToRawLongBits(value));
    }
    return table.estimate().of(0).number();
  }

  @Test
  void manyGroupsAreFoundAgainAndSubtractToZero() {
    GroupTable all = new GroupTable(Aggregates.named("sum"));
    GroupTable part = new GroupTable(Aggregates.named("sum"));
    for (int i = 0; i < 10_000; i++) {
      part.addValue(part.findOrAdd(key(i % 5_000), Key.hash(key(i % 5_000))), i);
    }
    assertThat(part.size()).isEqualTo(5_000);
    int[] places = all.add(part);
    all.add(part);
    all.subtract(part, places);
    for (int i = 0; i < 5_000; i++) {
      int entry = all.find(key(i), Key.hash(key(i)));
      assertThat(all.tuples(entry)).isEqualTo(2);
      assertThat(all.estimate().of(entry).exact()).isEqualTo(2L * i + 5_000);
    }
    assertThat(all.find(key(5_000), Key.hash(key(5_000)))).isNegative();
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(4).putInt(number).array();
  }
}
