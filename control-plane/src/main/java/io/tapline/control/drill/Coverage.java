package io.tapline.control.drill;

import java.util.ArrayList;
import java.util.List;

/**
 * The periods in which a node evaluated a watch. Times are nanoseconds since the epoch, by the
 * control plane's clock.
 *
 * @param incarnation start of the node that evaluates the watch; 0 if it is not known yet
 * @param sinceNs start of the current, uninterrupted evaluation
 * @param notEvaluatedNs total length of all gaps, in nanoseconds
 * @param gaps the latest times without evaluation, oldest first
 */
public record Coverage(long incarnation, long sinceNs, long notEvaluatedNs, List<Gap> gaps) {
  /** Maximum number of gaps kept; the total includes older ones. */
  public static final int MAX_GAPS = 16;

  /**
   * A period in which the watch was not evaluated, or its alerts were lost.
   *
   * @param fromNs latest time at which the watch is known to have been evaluated
   * @param toNs time at which the evaluation resumed
   * @param reason user-facing reason for the gap
   */
  public record Gap(long fromNs, long toNs, String reason) {}

  public Coverage {
    gaps = List.copyOf(gaps);
  }

  /** Returns the coverage of a watch that a node begins to evaluate now, without a gap. */
  public static Coverage since(long incarnation, long nowNs) {
    return new Coverage(incarnation, nowNs, 0, List.of());
  }

  /** Returns a copy with the node's start, which was unknown before. */
  public Coverage of(long known) {
    return new Coverage(known, sinceNs, notEvaluatedNs, gaps);
  }

  /** Returns the coverage after a gap that ends now. */
  public Coverage resumed(long known, long fromNs, long nowNs, String reason) {
    long beginNs = Math.min(fromNs, nowNs);
    List<Gap> moreGaps = new ArrayList<>(gaps);
    moreGaps.add(new Gap(beginNs, nowNs, reason));
    return new Coverage(
        known,
        nowNs,
        notEvaluatedNs + nowNs - beginNs,
        moreGaps.subList(Math.max(0, moreGaps.size() - MAX_GAPS), moreGaps.size()));
  }
}
