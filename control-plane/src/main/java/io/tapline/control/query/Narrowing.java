package io.tapline.control.query;

import io.tapline.compiler.rules.MirrorPlanner;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;

/**
 * Has switches leave out flows that a query's rate leaves out (NetAlytics §4.2: sampling at the
 * switch). They copy all, a half, a quarter, … of the connections, by zeros in the far port, which
 * decide in monitors, too (Sampling.by_port).
 *
 * <pre>
 *   rate low for long, and monitors keep no more    then switches copy half of what they did
 *   rate grows beyond what switches copy            switches copy more, and once they say so
 *                                                   monitors may keep more
 * </pre>
 *
 * <p>So at each moment monitors keep at most what switches copy, and what comes is right at any
 * rate: a part of the flows, of known size. Called once a second or so; not thread-safe.
 */
final class Narrowing {
  /**
   * Of what narrower switches would copy, the query's rate leaves some to rise, or they would be
   * told to and fro.
   */
  private static final double ROOM = 0.8;

  /** Of what switches copy: a rate above has them copy more. */
  private static final double FULL = 0.95;

  /**
   * How long the rate is low first; a monitor has a rate in force a second and a half after it has
   * heard it.
   */
  private static final long LOW_FOR_NS = 5_000_000_000L;

  private final IntPredicate narrow;
  private final BooleanSupplier mirrored;

  /** The most that switches may have been told, and what they have been told last. */
  private int zeros;

  private int told;

  /** Since when the rate is low enough for fewer copies; 0: it is not. */
  private long lowSinceNs;

  /**
   * @param narrow tells switches how many zeros; false: they can't be told
   * @param mirrored whether they do what they were told last
   * @param inherited whether an earlier control plane may have told them anything: that they copy
   *     all, as they were told now, they have to say first
   */
  Narrowing(IntPredicate narrow, BooleanSupplier mirrored, boolean inherited) {
    this.narrow = narrow;
    this.mirrored = mirrored;
    this.zeros = inherited ? MirrorPlanner.MOST_ZEROS : 0;
  }

  /**
   * One look.
   *
   * @param wanted share of the flows that can be taken
   * @param kept the most that any monitor may keep yet
   * @return what monitors may keep now
   */
  double next(double wanted, double kept, long nowNs) {
    if (told < zeros && mirrored.getAsBoolean()) {
      zeros = told;
    }
    if (wanted > FULL * copied(told)) {
      widen(wanted);
    } else {
      narrowWhereLow(Math.max(wanted / ROOM, kept), nowNs);
    }
    return Math.min(wanted, copied(zeros));
  }

  private void widen(double wanted) {
    lowSinceNs = 0;
    int next = told;
    while (next > 0 && wanted > ROOM * copied(next)) {
      next--;
    }
    if (next < told && narrow.test(next)) {
      told = next;
    }
  }

  private void narrowWhereLow(double needed, long nowNs) {
    boolean settled = told == zeros && zeros < MirrorPlanner.MOST_ZEROS;
    if (!settled || needed > copied(zeros + 1)) {
      lowSinceNs = 0;
    } else if (lowSinceNs == 0) {
      lowSinceNs = nowNs;
    } else if (nowNs - lowSinceNs >= LOW_FOR_NS && narrow.test(zeros + 1)) {
      zeros++;
      told = zeros;
      lowSinceNs = 0;
    }
  }

  private static double copied(int zeros) {
    return 1.0 / (1 << zeros);
  }
}
