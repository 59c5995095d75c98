package io.tapline.control.registry;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;

/**
 * Estimates how far another host's clock is ahead of this one's, from probes and their responses,
 * as NTP does (RFC 5905, section 8). Of the latest exchanges, the one with the shortest round trip
 * gives the estimate, since its error is at most half the round trip. An exchange that a later one
 * contradicts predates a clock adjustment and is discarded. Not thread-safe.
 */
public final class ClockOffset {
  /** Number of exchanges that are kept; older ones are discarded, since clocks drift. */
  private static final int KEPT = 16;

  private final Deque<Estimate> last = new ArrayDeque<>();

  /**
   * An offset.
   *
   * @param offsetNs host's clock minus this one's
   * @param errorNs maximum error
   */
  public record Estimate(long offsetNs, long errorNs) {
    boolean contradicts(Estimate otherEstimate) {
      return Math.abs(offsetNs - otherEstimate.offsetNs) > errorNs + otherEstimate.errorNs;
    }
  }

  /**
   * Returns the largest difference between two clocks that is certain despite the errors; 0 if all
   * clocks may be equal.
   */
  public static long differenceNs(List<Estimate> clocks) {
    long ahead = clocks.stream().mapToLong(clock -> clock.offsetNs - clock.errorNs).max().orElse(0);
    long behind =
        clocks.stream().mapToLong(clock -> clock.offsetNs + clock.errorNs).min().orElse(0);
    return Math.max(0, ahead - behind);
  }

  /**
   * Adds an exchange; all times are nanoseconds since the epoch, each by the clock of the side that
   * took it. Ignores an exchange with inconsistent times, which occur if a clock was set during it.
   */
  void add(long sentNs, long receivedNs, long answeredNs, long heardNs) {
    long wayNs = (heardNs - sentNs) - (answeredNs - receivedNs);
    if (wayNs < 0 || heardNs < sentNs) {
      return;
    }
    long offsetNs = ((receivedNs - sentNs) + (answeredNs - heardNs)) / 2;
    Estimate now = new Estimate(offsetNs, wayNs / 2 + 1);
    last.removeIf(now::contradicts);
    last.addLast(now);
    if (last.size() > KEPT) {
      last.removeFirst();
    }
  }

  /** Returns the best estimate; null before the first exchange. */
  Estimate best() {
    return last.stream().min(Comparator.comparingLong(Estimate::errorNs)).orElse(null);
  }
}
