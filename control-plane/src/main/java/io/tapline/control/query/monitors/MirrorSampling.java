package io.tapline.control.query.monitors;

import io.tapline.network.rules.MirrorPlanner;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;

/**
 * Makes switches skip flows that a query's sampling rate discards anyway (NetAlytics §4.2: sampling
 * at the switch). Switches copy all, a half, a quarter, … of the connections, selected by zero bits
 * in the far port, which monitors also use to sample (Sampling.by_port).
 *
 * <pre>
 *   the rate and all monitors' shares stay low   switches copy half as much
 *   the rate exceeds the switches' share         switches copy more; once they confirm it,
 *                                                monitors may keep more
 * </pre>
 *
 * <p>Hence monitors never keep more than switches copy, and the sample is correct at any rate: it
 * consists of a known share of the flows. Called about once a second; not thread-safe.
 */
final class MirrorSampling {
  /**
   * Maximum ratio of the query's rate to the share that switches copy after a change. Its distance
   * from {@link #FULL} is hysteresis: with less, rules would often be changed back immediately.
   */
  private static final double ROOM = 0.8;

  /** Above this fraction of the share that switches copy, the mirror rules are widened. */
  private static final double FULL = 0.95;

  /**
   * Time for which the rate must have been low before the mirror rules are narrowed; a new rate
   * takes effect in a monitor 1.5 s after it has arrived.
   */
  private static final long LOW_FOR_NS = 5_000_000_000L;

  private final IntPredicate narrow;
  private final BooleanSupplier mirrored;

  /** The largest number of zeros that may be in force, and the number last sent to switches. */
  private int zeros;

  private int announced;

  /** Time since which the rate is low enough for fewer copies; 0 if it is not. */
  private long lowSinceNs;

  /**
   * Creates the sampling of one query.
   *
   * @param narrow sends switches the number of zeros; returns false if that is impossible
   * @param mirrored returns true if switches have applied the number last sent
   * @param inherited true if an earlier control plane may have narrowed the rules: switches must
   *     then first confirm that they copy everything again
   */
  MirrorSampling(IntPredicate narrow, BooleanSupplier mirrored, boolean inherited) {
    this.narrow = narrow;
    this.mirrored = mirrored;
    this.zeros = inherited ? MirrorPlanner.MAX_ZEROS : 0;
  }

  /**
   * Updates the shares for one measurement.
   *
   * @param wanted share of the flows that can be processed
   * @param kept highest share that any monitor may still keep
   * @return share that monitors may keep now
   */
  double next(double wanted, double kept, long nowNs) {
    if (announced < zeros && mirrored.getAsBoolean()) {
      zeros = announced;
    }
    if (wanted > FULL * copied(announced)) {
      widen(wanted);
    } else {
      narrowWhereLow(Math.max(wanted / ROOM, kept), nowNs);
    }
    return Math.min(wanted, copied(zeros));
  }

  private void widen(double wanted) {
    lowSinceNs = 0;
    int next = announced;
    while (next > 0 && wanted > ROOM * copied(next)) {
      next--;
    }
    if (next < announced && narrow.test(next)) {
      announced = next;
    }
  }

  private void narrowWhereLow(double needed, long nowNs) {
    boolean settled = announced == zeros && zeros < MirrorPlanner.MAX_ZEROS;
    if (!settled || needed > copied(zeros + 1)) {
      lowSinceNs = 0;
    } else if (lowSinceNs == 0) {
      lowSinceNs = nowNs;
    } else if (nowNs - lowSinceNs >= LOW_FOR_NS && narrow.test(zeros + 1)) {
      zeros++;
      announced = zeros;
      lowSinceNs = 0;
    }
  }

  private static double copied(int zeros) {
    return 1.0 / (1 << zeros);
  }
}
