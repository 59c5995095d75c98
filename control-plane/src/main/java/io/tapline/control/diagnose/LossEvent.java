package io.tapline.control.diagnose;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A lost segment, reconstructed from the segments that were sent just before and just after it and
 * did arrive, since they passed through the same queue.
 *
 * @param hop hop of the path at which these segments waited longest
 * @param queued true if there was a real queue at that hop
 * @param timeNs time at which the first of these segments left that hop's switch
 */
record LossEvent(FlowKey flow, List<Integer> path, int hop, boolean queued, long timeNs) {
  /** Minimum number of packets in a real queue; fewer may be there by chance. */
  private static final int MIN_PACKETS = 8;

  int switchId() {
    return path.get(hop);
  }

  /** Returns the next switch; 0 if the receiver is next. */
  int next() {
    return hop + 1 < path.size() ? path.get(hop + 1) : 0;
  }

  /**
   * Returns the losses of one flow. The retransmission of a segment that had arrived does not
   * indicate a loss.
   *
   * @param segments all segments of the flow, in time order
   * @param repeats the retransmissions among these segments, in time order
   */
  static List<LossEvent> of(List<Segment> segments, List<Segment> repeats) {
    Set<List<Long>> retransmissions = new HashSet<>();
    repeats.forEach(segment -> retransmissions.add(List.of(segment.timeNs(), segment.seq())));
    TreeMap<Long, Segment> first = new TreeMap<>();
    for (Segment segment : segments) {
      if (!retransmissions.contains(List.of(segment.timeNs(), segment.seq()))
          && !segment.path().isEmpty()) {
        first.putIfAbsent(segment.seq(), segment);
      }
    }
    long packetNs = packetNs(segments);
    List<LossEvent> events = new ArrayList<>();
    Set<Long> reported = new HashSet<>();
    for (Segment repeat : repeats) {
      if (!hadCome(repeat, first) && reported.add(repeat.seq())) {
        LossEvent event = of(repeat, first, packetNs);
        if (event != null) {
          events.add(event);
        }
      }
    }
    return events;
  }

  /**
   * Returns true if a segment had already arrived. The boundaries of retransmissions may differ
   * from those of the original segments.
   */
  private static boolean hadCome(Segment repeats, TreeMap<Long, Segment> first) {
    Map.Entry<Long, Segment> original = first.floorEntry(repeats.seq());
    return original != null && original.getKey() + original.getValue().bytes() > repeats.seq();
  }

  private static LossEvent of(Segment lostSegment, TreeMap<Long, Segment> first, long packetNs) {
    Map.Entry<Long, Segment> previousEntry = first.lowerEntry(lostSegment.seq());
    Map.Entry<Long, Segment> laterEntry = first.higherEntry(lostSegment.seq());
    if (previousEntry == null && laterEntry == null) {
      return null;
    }
    Segment witness = previousEntry == null ? laterEntry.getValue() : previousEntry.getValue();
    Segment otherSegment = laterEntry == null ? witness : laterEntry.getValue();
    int worst = 0;
    long longest = -1;
    for (int hop = 0; hop < witness.path().size(); hop++) {
      boolean isSame = otherSegment.path().equals(witness.path());
      long waited =
          Math.max(witness.latencyNs().get(hop), isSame ? otherSegment.latencyNs().get(hop) : 0);
      if (waited > longest) {
        longest = waited;
        worst = hop;
      }
    }
    return new LossEvent(
        lostSegment.flow(),
        witness.path(),
        worst,
        longest >= MIN_PACKETS * packetNs,
        witness.leftNs().get(worst));
  }

  /** Returns the minimum time to send a packet over a link, including propagation. */
  private static long packetNs(List<Segment> segments) {
    long min = Long.MAX_VALUE;
    for (Segment segment : segments) {
      for (int hop = 0; hop + 1 < segment.path().size(); hop++) {
        min = Math.min(min, Math.max(1, segment.linkNs(hop)));
      }
    }
    return min == Long.MAX_VALUE ? 1 : min;
  }
}
