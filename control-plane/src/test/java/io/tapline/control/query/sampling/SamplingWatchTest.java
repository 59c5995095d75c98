package io.tapline.control.query.sampling;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.query.sampling.SamplingWatch.State;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Tests the watch with a simulated job that reports every second or two, and a simulated monitor
 * that applies a rate a second late and emits batches of a thousand tuples.
 */
class SamplingWatchTest {
  private static final double LOAD = 100_000;
  private static final int ROWS = 1_000;
  private static final int SECONDS = 400;
  private static final int FIRST_SECONDS = 20;

  private final List<Double> limits = new ArrayList<>();
  private final List<Double> lags = new ArrayList<>();

  private double apply(double rate) {
    limits.add(rate);
    return rate;
  }

  private void run(double capacity) {
    run(capacity, capacity, 5);
  }

  /** Simulates a run whose capacity differs in the first seconds. */
  private void run(double atFirst, double laterRate, int seed) {
    SamplingWatch watch = new SamplingWatch("q", 1, () -> new State(0, 0, 0), this::apply);
    Random random = new Random(seed);
    double written = 0;
    double read = 0;
    double apply = 0;
    double inForce = 1;
    boolean isSilent = false;
    for (int second = 0; second < SECONDS; second++) {
      double capacity = second < FIRST_SECONDS ? atFirst : laterRate;
      written += LOAD * inForce * (0.9 + 0.2 * random.nextDouble());
      read = Math.min(written, read + capacity);
      isSilent = !isSilent && random.nextInt(3) == 0;
      apply = isSilent ? apply : read;
      inForce = limits.isEmpty() ? 1 : limits.get(limits.size() - 1);
      watch.take(new State((long) written / ROWS, (long) apply / ROWS, (long) apply), 1);
      lags.add((written - read) / capacity);
    }
  }

  @Test
  void aJobThatKeepsUpIsNeverLimited() {
    run(2 * LOAD);
    assertThat(limits)
        .as("sent once, since an earlier control plane may have set a limit")
        .containsExactly(1.0);
  }

  @Test
  void aJobWithAFifthOfTheCapacityGetsAFifthWithABoundedLag() {
    run(LOAD / 5);
    assertThat(lags.subList(100, SECONDS))
        .as("lag, s")
        .allMatch(lag -> lag < SamplingWatch.TARGET_LAG_SECONDS);
    List<Double> settled = limits.subList(100, limits.size());
    assertThat(settled.stream().mapToDouble(rate -> rate).average().orElseThrow())
        .isBetween(0.15, 0.23);
    assertThat(settled.stream().mapToDouble(rate -> rate).max().orElseThrow()).isLessThan(0.4);
  }

  /**
   * Tests that the watch reacts before it has admitted more than a few seconds of full load; the
   * job takes 5 s to process each of them.
   */
  @Test
  void followsAJobThatSlowsToAFifth() {
    for (int seed = 0; seed < 20; seed++) {
      limits.clear();
      lags.clear();
      run(2 * LOAD, LOAD / 5, seed);
      assertThat(lags).as("lag, s, seed %d", seed).allMatch(lag -> lag < 18);
      assertThat(lags.subList(60, SECONDS))
          .as("lag, s, seed %d", seed)
          .allMatch(lag -> lag < SamplingWatch.TARGET_LAG_SECONDS);
    }
  }

  /**
   * Tests a broker's quota with ten batches of any size per second. After ten seconds without a
   * quota, the broker serves up to ten seconds of the quota at once, then nothing until the mean
   * rate is within the quota again. While a backlog of full batches is read, the smaller batches
   * behind it must not be assumed to be full, and a paused job must not be assumed to have stopped.
   */
  @Test
  void aJobBehindAQuotaGetsItsShareWithABoundedLag() {
    SamplingWatch watch = new SamplingWatch("q", 1, () -> new State(0, 0, 0), this::apply);
    Deque<Double> unread = new ArrayDeque<>();
    long written = 0;
    double apply = 0;
    double credit = 0;
    for (int second = 0; second < SECONDS; second++) {
      double inForce = limits.isEmpty() ? 1 : limits.get(limits.size() - 1);
      for (int i = 0; i < 10; i++) {
        unread.addLast(LOAD * inForce / 10);
        written++;
      }
      credit = second < 10 ? 0 : Math.min(0, credit + LOAD / 5);
      double fetched = 0;
      while (credit >= 0 && !unread.isEmpty() && fetched < 2 * LOAD) {
        fetched += unread.removeFirst();
      }
      credit -= second < 10 ? 0 : fetched;
      apply += fetched;
      watch.take(new State(written, written - unread.size(), (long) apply), 1);
      lags.add(unread.size() / 10.0);
    }
    assertThat(limits).as("the lag is visible").allMatch(rate -> rate > 0.005);
    List<Double> settled = limits.subList(100, limits.size());
    assertThat(settled.stream().mapToDouble(rate -> rate).average().orElseThrow())
        .isBetween(0.12, 0.22);
    assertThat(settled).allMatch(rate -> rate > 0.01 && rate < 0.5);
    assertThat(lags.subList(100, SECONDS))
        .as("lag in s; a pause of the quota alone causes ten")
        .allMatch(lag -> lag < 1.75 * SamplingWatch.TARGET_LAG_SECONDS);
  }

  @Test
  void batchesBeforeTheFirstReadAreNotLag() {
    SamplingWatch watch = new SamplingWatch("q", 1, () -> new State(0, 0, 0), this::apply);
    for (int second = 1; second < 60; second++) {
      watch.take(new State(1_000L * second, 0, 0), 1);
    }
    assertThat(limits).isEmpty();
  }
}
