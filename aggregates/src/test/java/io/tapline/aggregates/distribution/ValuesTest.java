package io.tapline.aggregates.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.tapline.aggregates.Histogram;
import io.tapline.aggregates.Value;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ValuesTest {
  private static final double[] SHARES = {0.5, 0.9, 0.95, 0.99};

  @Test
  void quantilesOfFewDistinctValuesAreExact() {
    Values distribution = new Values();
    for (int i = 0; i < 10 * Values.EXACT; i++) {
      distribution.add(Values.EXACT - i % Values.EXACT);
    }
    assertThat(distribution.quantiles(SHARES)).containsExactly(1024, 1844, 1946, 2028);
    assertThat(distribution.quantile(0.5)).isEqualTo(Value.real(1024));
    distribution.add(0.5);
    Value quantile = distribution.quantile(0.5);
    assertThat(quantile.low()).isLessThan(quantile.high());
  }

  /** Uses the values of parsers/trigger/sketch_test.cc, and expects the same bounds. */
  @Test
  void agreesWithTheMonitor() {
    Values distribution = new Values();
    long state = 1;
    for (int i = 0; i < 50_000; i++) {
      state = state * 6364136223846793005L + 1442695040888963407L;
      distribution.add(state >>> 40);
    }
    double[] bounds =
        DoubleStream.of(0.001, 0.1, 0.5, 0.99)
            .mapToObj(distribution::quantile)
            .flatMapToDouble(quantile -> DoubleStream.of(quantile.low(), quantile.high()))
            .toArray();
    assertThat(bounds)
        .containsExactly(
            17_472, 17_536, 1_703_936, 1_708_032, 8_388_608, 8_421_376, 16_580_608, 16_613_376);
  }

  /** The values span 29 octaves, with both signs. */
  @ParameterizedTest
  @ValueSource(ints = {2_000, 20_000, 200_000})
  void quantilesOfManyValuesAreWithinTheirBounds(int count) {
    double[] values = values(count);
    Values distribution = distribution(values);
    Arrays.sort(values);
    for (double share : SHARES) {
      double truth = values[(int) Math.ceil(share * count) - 1];
      Value quantile = distribution.quantile(share);
      assertThat(quantile.low()).isLessThanOrEqualTo(truth);
      assertThat(quantile.high()).isGreaterThanOrEqualTo(truth);
      assertThat(quantile.number()).isCloseTo(truth, withinPercentage(1.0));
      assertThat(quantile.high() - quantile.low()).isLessThanOrEqualTo(Math.abs(truth) / 32);
    }
    assertThat(distribution.histogram()).isEqualTo(histogram(values));
  }

  /** Values in another order, split into parts and merged, give the same result. */
  @ParameterizedTest
  @ValueSource(ints = {500, 5_000, 100_000})
  void theOrderOfValuesChangesNothing(int count) throws Exception {
    double[] values = values(count);
    Values expected = distribution(values);
    Random random = new Random(count);
    for (int round = 0; round < 10; round++) {
      Values[] parts = new Values[1 + random.nextInt(20)];
      Arrays.setAll(parts, part -> new Values());
      for (int i = count - 1; i >= 0; i--) {
        int j = random.nextInt(i + 1);
        double value = values[j];
        values[j] = values[i];
        values[i] = value;
        // The parts have very different sizes.
        parts[(int) (parts.length * Math.pow(random.nextDouble(), 3))].add(value);
      }
      Values merged = new Values();
      for (Values part : parts) {
        merged.merge(random.nextBoolean() ? copy(part) : part);
        if (random.nextInt(4) == 0) {
          merged.quantile(0.5);
        }
      }
      for (double share = 0.001; share <= 1; share += 0.001) {
        assertThat(merged.quantile(share)).isEqualTo(expected.quantile(share));
      }
      assertThat(merged.histogram()).isEqualTo(expected.histogram());
    }
  }

  @Test
  void computesMinimumAndMaximum() {
    double[] values = {-Double.MAX_VALUE, -1, -Double.MIN_VALUE, -0.0, 0, 1e-300, Double.MAX_VALUE};
    Values distribution = distribution(values);
    assertThat(distribution.quantiles(0, 1.0 / 7, 4.0 / 7, 5.0 / 7, 1))
        .containsExactly(-Double.MAX_VALUE, -Double.MAX_VALUE, 0, 0, Double.MAX_VALUE);
    Random random = new Random(3);
    for (int i = 0; i < 100_000; i++) {
      distribution.add(Double.longBitsToDouble(random.nextLong() & ~(1L << 62)));
    }
    assertThat(distribution.quantile(1).high()).isGreaterThanOrEqualTo(Double.MAX_VALUE);
    assertThat(distribution.quantile(0).low()).isLessThanOrEqualTo(-Double.MAX_VALUE);
  }

  private static double[] values(int count) {
    return new Random(count)
        .doubles(count)
        .map(value -> Math.exp(20 * value) * (value < 0.2 ? -1 : 1))
        .toArray();
  }

  private static Values distribution(double[] values) {
    Values distribution = new Values();
    for (double value : values) {
      distribution.add(value);
    }
    return distribution;
  }

  private static long[] histogram(double[] values) {
    long[] histogram = new long[new Values().histogram().length];
    for (double value : values) {
      int bucket = 0;
      while (Histogram.bound(bucket) < value) {
        bucket++;
      }
      histogram[bucket]++;
    }
    return histogram;
  }

  private static Values copy(Values distribution) throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    distribution.write(new DataOutputStream(out));
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(out.toByteArray()));
    Values copy = new Values();
    copy.read(in);
    assertThat(in.available()).isZero();
    return copy;
  }

  @Test
  void boundsGrowByAHalfOrAThird() {
    long[] first = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24};
    for (int bucket = 0; bucket < first.length; bucket++) {
      assertThat(Histogram.bound(bucket)).isEqualTo(first[bucket]);
      assertThat(Histogram.bucket(first[bucket])).isEqualTo(bucket);
    }
    int last = new Values().histogram().length - 1;
    assertThat(Histogram.bucket(Double.MAX_VALUE)).isEqualTo(last);
    assertThat(Histogram.bound(last)).isGreaterThan(Histogram.bound(last - 1)).isPositive();
    assertThat(Histogram.bucket(-3)).isZero();
  }
}
