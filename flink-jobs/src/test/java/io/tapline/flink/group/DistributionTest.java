package io.tapline.flink.group;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DistributionTest {
  private static final double[] SHARES = {0.5, 0.9, 0.95, 0.99};

  @Test
  void quantilesOfFewValuesAreExact() {
    Distribution distribution = new Distribution();
    for (int value = Distribution.EXACT; value >= 1; value--) {
      distribution.update(value);
    }
    assertThat(distribution.quantiles(SHARES)).containsExactly(512, 922, 973, 1014);
  }

  @ParameterizedTest
  @ValueSource(ints = {2_000, 20_000, 200_000})
  void quantilesOfManyValuesKeepTheStatedRankError(int count) throws Exception {
    Random random = new Random(count);
    double[] values = random.doubles(count).map(value -> Math.exp(20 * value)).toArray();
    Distribution[] parts = {new Distribution(), new Distribution(), new Distribution()};
    for (double value : values) {
      parts[random.nextInt(3)].update(value);
    }
    Distribution merged = copy(parts[0]);
    merged.merge(copy(parts[1]));
    merged.merge(parts[2]);

    Arrays.sort(values);
    double[] quantiles = merged.quantiles(SHARES);
    for (int i = 0; i < SHARES.length; i++) {
      int at = Arrays.binarySearch(values, quantiles[i]);
      assertThat(at).as("a value that came").isNotNegative();
      // The stated bound holds with 99 %; twice that is out of reach.
      assertThat((at + 1.0) / count).isBetween(SHARES[i] - 2 * error(), SHARES[i] + 2 * error());
    }
    assertThat(merged.histogram()).isEqualTo(histogram(values));
  }

  private static double error() {
    assertThat(Distribution.RANK_ERROR).isLessThan(0.0015);
    return Distribution.RANK_ERROR;
  }

  private static long[] histogram(double[] values) {
    long[] histogram = new long[new Distribution().histogram().length];
    for (double value : values) {
      int bucket = 0;
      while (Distribution.bound(bucket) < value) {
        bucket++;
      }
      histogram[bucket]++;
    }
    return histogram;
  }

  private static Distribution copy(Distribution distribution) throws Exception {
    DataOutputSerializer out = new DataOutputSerializer(64);
    distribution.write(out);
    DataInputDeserializer in = new DataInputDeserializer(out.getCopyOfBuffer());
    Distribution copy = Distribution.read(in);
    assertThat(in.available()).isZero();
    return copy;
  }

  @Test
  void boundsGrowByAHalfOrAThird() {
    long[] first = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24};
    for (int bucket = 0; bucket < first.length; bucket++) {
      assertThat(Distribution.bound(bucket)).isEqualTo(first[bucket]);
      assertThat(Distribution.bucket(first[bucket])).isEqualTo(bucket);
    }
    int last = new Distribution().histogram().length - 1;
    assertThat(Distribution.bucket(Double.MAX_VALUE)).isEqualTo(last);
    assertThat(Distribution.bound(last)).isGreaterThan(Distribution.bound(last - 1)).isPositive();
    assertThat(Distribution.bucket(-3)).isZero();
  }
}
