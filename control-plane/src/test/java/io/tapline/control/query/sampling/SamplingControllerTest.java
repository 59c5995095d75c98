package io.tapline.control.query.sampling;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.query.sampling.SamplingController.Measurement;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.IntToDoubleFunction;
import org.junit.jupiter.api.Test;

/**
 * Tests the controller with a noisy load, a simulated job (a queue drained at a limited rate) and
 * simulated monitors that apply a new rate a second late.
 */
class SamplingControllerTest {
  private static final double CAPACITY = 100_000;
  private static final double TARGET_SECONDS = 2;
  private static final int SECONDS = 600;

  private final List<Double> rates = new ArrayList<>();
  private final List<Double> lags = new ArrayList<>();
  private double taken;

  /** Simulates a run; {@code load} is the number of tuples per second at sampling rate 1. */
  private void run(IntToDoubleFunction load, double capacity) {
    SamplingController controller = new SamplingController(1.0 / 1024, 1, TARGET_SECONDS);
    Random random = new Random(3);
    double queue = 0;
    double inForce = 1;
    for (int second = 0; second < SECONDS; second++) {
      double allFlows = load.applyAsDouble(second) * (0.95 + 0.1 * random.nextDouble());
      double offered = allFlows * inForce;
      double consumed = Math.min(queue + offered, capacity);
      queue += offered - consumed;
      taken += consumed;
      inForce = controller.rate();
      controller.next(new Measurement(1, allFlows, consumed, queue));
      rates.add(controller.rate());
      lags.add(queue / capacity);
    }
  }

  @Test
  void withinCapacityEveryFlowIsKept() {
    run(second -> 0.8 * CAPACITY, CAPACITY);
    assertThat(rates).containsOnly(1.0);
  }

  @Test
  void aLoadStepIsFollowedWithoutOscillationAndReverted() {
    run(second -> second < 100 || second >= 400 ? CAPACITY / 2 : 5 * CAPACITY, CAPACITY);
    assertThat(lags.subList(140, 400)).as("lag, s").allMatch(lag -> lag < TARGET_SECONDS);
    List<Double> settled = rates.subList(160, 400);
    double min = settled.stream().mapToDouble(rate -> rate).min().orElseThrow();
    double max = settled.stream().mapToDouble(rate -> rate).max().orElseThrow();
    assertThat(min).isGreaterThan(0.14);
    assertThat(max).isLessThan(0.25);
    assertThat(settled.stream().mapToDouble(r -> r).average().orElseThrow()).isBetween(0.18, 0.22);
    assertThat(deviation(settled)).as("standard deviation").isLessThan(0.02);
    assertThat(rates.get(SECONDS - 1)).isEqualTo(1.0);
  }

  @Test
  void aLoadRampIsFollowed() {
    run(second -> CAPACITY * (0.5 + 9.5 * second / SECONDS), CAPACITY);
    assertThat(lags).as("lag, s").allMatch(lag -> lag < 2 * TARGET_SECONDS);
    assertThat(rates.get(SECONDS - 1)).isBetween(0.06, 0.12);
    assertThat(taken).isGreaterThan(0.8 * CAPACITY * SECONDS);
  }

  @Test
  void burstsLeaveABoundedLag() {
    run(second -> second % 30 < 5 ? 4 * CAPACITY : CAPACITY / 2, CAPACITY);
    long over = lags.stream().filter(lag -> lag > 8).count();
    assertThat(over).as("seconds with a lag over 8 s").isLessThan(SECONDS / 20);
    assertThat(taken).isGreaterThan(0.4 * CAPACITY * SECONDS);
  }

  @Test
  void aConsumerOfAFifthOfTheLoadGetsAFifth() {
    run(second -> CAPACITY, CAPACITY / 5);
    assertThat(lags.subList(60, SECONDS)).as("lag, s").allMatch(lag -> lag < TARGET_SECONDS);
    double mean = rates.subList(60, SECONDS).stream().mapToDouble(r -> r).average().orElseThrow();
    assertThat(mean).isBetween(0.14, 0.22);
  }

  private static double deviation(List<Double> values) {
    double mean = values.stream().mapToDouble(v -> v).average().orElseThrow();
    double squares = values.stream().mapToDouble(v -> (v - mean) * (v - mean)).sum();
    return Math.sqrt(squares / values.size());
  }
}
