package io.tapline.control.registry;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;

/**
 * How far a host's clock is ahead of this one's, from probes and their answers as NTP does it (RFC
 * 5905, section 8): of the last exchanges the one with the shortest way counts, for the offset
 * can't be wrong by more than half of it. One that a later one contradicts is of a time before a
 * clock was set, and does not count. Not thread-safe.
 */
public final class ClockOffset {
  /** Older ones don't count: clocks drift. */
  private static final int KEPT = 16;

  private final Deque<Estimate> last = new ArrayDeque<>();

  /**
   * An offset.
   *
   * @param offsetNs host's clock minus this one's
   * @param errorNs at most so far from the truth
   */
  public record Estimate(long offsetNs, long errorNs) {
    boolean contradicts(Estimate other) {
      return Math.abs(offsetNs - other.offsetNs) > errorNs + other.errorNs;
    }
  }

  /** Nanoseconds by which the clocks that are furthest apart differ for certain; 0 if none do. */
  public static long apartNs(List<Estimate> clocks) {
    long ahead = clocks.stream().mapToLong(each -> each.offsetNs - each.errorNs).max().orElse(0);
    long behind = clocks.stream().mapToLong(each -> each.offsetNs + each.errorNs).min().orElse(0);
    return Math.max(0, ahead - behind);
  }

  /**
   * An exchange: nanoseconds since the epoch by the clock of whoever looked. One that contradicts
   * itself, because a clock was set meanwhile, is ignored.
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

  /** Null before the first exchange. */
  Estimate best() {
    return last.stream().min(Comparator.comparingLong(Estimate::errorNs)).orElse(null);
  }
}
