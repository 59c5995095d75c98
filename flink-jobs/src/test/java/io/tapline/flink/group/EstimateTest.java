package io.tapline.flink.group;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.aggregates.Aggregates;
import io.tapline.aggregates.Value;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.Random;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests that bounds contain the true value as often as claimed, over windows of flows whose groups
 * follow Zipf's law.
 */
class EstimateTest {
  private static final int WINDOWS = 300;
  private static final int FLOWS = 6_000;
  private static final int GROUPS = 1_000;
  private static final int RANKED = 10;
  private static final int TUPLES_A_FLOW = 3;

  @Test
  void quantilesMatchPublishedTables() {
    Offset<Double> near = Offset.offset(1e-5);
    assertThat(Student.quantile(1)).isCloseTo(2.13145, near);
    assertThat(Student.quantile(5)).isCloseTo(2.94671, near);
    assertThat(Student.quantile(50)).isCloseTo(4.07277, near);
  }

  /**
   * Tests all rows at once: among groups of similar size, the first ten by estimate are those that
   * were overestimated.
   */
  @ParameterizedTest
  @ValueSource(doubles = {0.01, 0.08, 0.3, 0.8})
  void allRowsOfARankingAreWithinTheirBoundsIn95PercentOfWindows(double rate) {
    int covered = 0;
    int ofTheFirst = 0;
    for (int seed = 0; seed < WINDOWS; seed++) {
      Window window = new Window(rate, seed);
      covered += window.within(RANKED, Student.quantile(RANKED)) ? 1 : 0;
      ofTheFirst += window.within(1, Student.quantile(1)) ? 1 : 0;
    }
    assertThat(covered).isGreaterThanOrEqualTo((int) (0.95 * WINDOWS));
    assertThat(ofTheFirst).isGreaterThanOrEqualTo((int) (0.93 * WINDOWS));
  }

  /** One window: the true counts, and the table of the flows that were kept. */
  private static final class Window {
    private final long[] truth = new long[GROUPS];
    private final GroupTable table = new GroupTable(Aggregates.named("count"));

    Window(double rate, int seed) {
      Random random = new Random(seed);
      for (int i = 0; i < FLOWS; i++) {
        int group = (int) Math.pow(GROUPS, random.nextDouble()) - 1;
        truth[group] += TUPLES_A_FLOW;
        if (random.nextDouble() < rate) {
          keep(group, random.nextLong(), rate);
        }
      }
    }

    private void keep(int group, long flow, double rate) {
      byte[] key = ByteBuffer.allocate(4).putInt(group).array();
      int entry = table.findOrAdd(key, Key.hash(key));
      for (int i = 0; i < TUPLES_A_FLOW; i++) {
        table.count(entry, 1);
        table.addSampled(entry, 1, rate, flow);
      }
    }

    private boolean within(int first, double width) {
      Estimate estimate = table.estimate(width, 0, 0, true);
      Value[] values =
          IntStream.range(0, table.size())
              .mapToObj(entry -> estimate.of(entry))
              .toArray(Value[]::new);
      return IntStream.range(0, table.size())
          .boxed()
          .sorted(Comparator.comparingDouble(entry -> -values[entry].number()))
          .limit(first)
          .allMatch(
              entry -> {
                long value = truth[ByteBuffer.wrap(table.key(entry)).getInt()];
                return values[entry].low() <= value && value <= values[entry].high();
              });
    }
  }
}
