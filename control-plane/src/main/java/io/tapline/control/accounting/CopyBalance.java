package io.tapline.control.accounting;

import io.tapline.sdn.mirror.MirrorCount;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A lower bound on the number of packets that switches copied to one host, but that never reached
 * the host's monitor.
 *
 * <pre>
 * switches   ──a───────b──────────────▶  copied(b): the counters, as last updated before b
 * monitor    ──────────────c──────────▶  received(c): all packets that arrived before c
 *
 *            lost ≥ copied(b) − received(c),   c ≥ b + 2 s
 * </pre>
 *
 * <p>The lag of the counters, and packets that arrive between b and c, make the bound too small,
 * never too large: packets in flight do not count as lost. A loss is reported only after two
 * consecutive evaluations have found it.
 *
 * <p>A switch may count packets for a flow although they passed shortly before the switch received
 * the flow and were not copied (Open vSwitch does, for up to half a second). Therefore, a flow
 * counts only {@link #FLOW_SETTLES_NS} after it was first seen. Its packets that arrive before that
 * time, and packets that none of our switches copied, make the bound too small, until traffic has
 * paused for {@link #PAUSE_NS}: packets that no switch has counted by then are not copies, so the
 * bound becomes exact. Does no I/O. Times are those of System.nanoTime. Not thread-safe.
 */
final class CopyBalance {
  static final long FLOW_SETTLES_NS = 3_000_000_000L;

  /** A time longer than a packet takes to get from a switch to its monitor's counters. */
  static final long ON_ITS_WAY_NS = 2_000_000_000L;

  /** A time longer than a switch usually takes to count a packet. */
  static final long COUNTERS_LAG_NS = 2_000_000_000L;

  /**
   * A time longer than any switch was observed to take to count a packet: Open vSwitch takes up to
   * its setting {@code max-revalidator}. A packet that is counted after such a pause is reported as
   * lost.
   */
  static final long PAUSE_NS = 10_000_000_000L;

  private static final long MOSTLY_LAG_NS = 1_000_000_000L;

  private static final int KEPT = 64;

  private record Reading(long sinceNs, long atNs, long copied) {}

  private record Arrival(long untilNs, long packets) {}

  private static final class FlowCount {
    private final long firstNs;
    private long last;
    private long base;
    private boolean counts;

    FlowCount(MirrorCount first) {
      firstNs = first.readNs();
      last = first.packets();
    }

    long copied() {
      return counts ? last - base : 0;
    }
  }

  private final Map<String, FlowCount> flows = new HashMap<>();
  private final Deque<Reading> readings = new ArrayDeque<>();
  private Reading latest;
  private final Deque<Arrival> arrivals = new ArrayDeque<>();
  private long incarnation;
  private long copiedByRemoved;
  private boolean counting;

  /**
   * Number of arrivals that do not count as copies: those before the first flow began to count, and
   * others that no switch had counted by the end of a pause.
   */
  private long arrivedBefore;

  /** Time of the latest change on either side: new arrivals, or a new total of copied packets. */
  private long stillSinceNs;

  private long lostBefore;
  private long lost;
  private long boundBefore;
  private long boundOfNs = Long.MIN_VALUE;
  private long comparedNs = Long.MIN_VALUE;

  /**
   * Handles a monitor's report.
   *
   * @param monitor incarnation of the monitor
   * @param packets packets received in this incarnation
   * @param untilNs time; {@code packets} includes all packets that arrived before it
   */
  void received(long monitor, long packets, long untilNs) {
    if (monitor != incarnation) {
      incarnation = monitor;
      arrivals.clear();
      begin();
      lostBefore = 0;
    }
    if (!arrivals.isEmpty() && untilNs <= arrivals.getLast().untilNs()) {
      return;
    }
    if (arrivals.isEmpty() || packets != arrivals.getLast().packets()) {
      stillSinceNs = Math.max(stillSinceNs, untilNs);
    }
    arrivals.addLast(new Arrival(untilNs, packets));
    if (arrivals.size() > KEPT) {
      arrivals.removeFirst();
    }
    evaluate();
  }

  private void begin() {
    flows.clear();
    readings.clear();
    latest = null;
    copiedByRemoved = 0;
    counting = false;
    lostBefore += lost;
    lost = 0;
    boundBefore = 0;
    boundOfNs = Long.MIN_VALUE;
  }

  /**
   * Handles the switches' counters of packets copied to the host.
   *
   * @param now counts of all existing flows; flows that are missing were removed
   */
  void copied(List<MirrorCount> now) {
    if (incarnation == 0) {
      return;
    }
    if (now.isEmpty()) {
      if (!flows.isEmpty()) {
        begin();
      }
      return;
    }
    Map<String, FlowCount> previousCounts = new HashMap<>(flows);
    flows.clear();
    for (MirrorCount mirrorCount : now) {
      flows.put(
          mirrorCount.flow(), counted(mirrorCount, previousCounts.remove(mirrorCount.flow())));
    }
    previousCounts.values().forEach(removed -> copiedByRemoved += removed.copied());
    long copied = copiedByRemoved + flows.values().stream().mapToLong(FlowCount::copied).sum();
    long sinceNs = now.stream().mapToLong(MirrorCount::readNs).min().orElseThrow();
    long atNs = now.stream().mapToLong(MirrorCount::readNs).max().orElseThrow();
    if (readings.isEmpty() || atNs > readings.getLast().atNs()) {
      if (latest == null || copied != latest.copied()) {
        stillSinceNs = Math.max(stillSinceNs, atNs);
      }
      latest = new Reading(sinceNs, atNs, copied);
      readings.addLast(latest);
    }
    if (readings.size() > KEPT) {
      readings.removeFirst();
    }
  }

  private FlowCount counted(MirrorCount now, FlowCount previousCount) {
    FlowCount flow = previousCount;
    if (previousCount == null || now.packets() < previousCount.last) {
      copiedByRemoved += previousCount == null ? 0 : previousCount.copied();
      flow = new FlowCount(now);
    }
    flow.last = now.packets();
    if (!flow.counts && now.readNs() - flow.firstNs >= FLOW_SETTLES_NS) {
      flow.counts = true;
      flow.base = now.packets();
      if (!counting) {
        counting = true;
        arrivedBefore = arrivedBy(now.readNs() - COUNTERS_LAG_NS);
      }
    }
    return flow;
  }

  /**
   * Returns the number of packets that had arrived by a time. A report may include packets that the
   * monitor had not yet examined and that are not copies, such as ARP; later reports exclude them.
   */
  private long arrivedBy(long timeNs) {
    long packets = 0;
    for (Arrival arrival : arrivals) {
      packets =
          arrival.untilNs() <= timeNs ? arrival.packets() : Math.min(packets, arrival.packets());
    }
    return packets;
  }

  private void evaluate() {
    Arrival arrived = arrivals.getLast();
    Reading reading = null;
    while (!readings.isEmpty() && readings.getFirst().atNs() + ON_ITS_WAY_NS <= arrived.untilNs()) {
      reading = readings.removeFirst();
    }
    if (reading == null || !counting) {
      return;
    }
    long bound = reading.copied() - (arrived.packets() - arrivedBefore);
    lost = Math.max(lost, Math.min(bound, boundBefore));
    if (bound < lost && reading.sinceNs() - stillSinceNs >= PAUSE_NS) {
      arrivedBefore += lost - bound;
      bound = lost;
    }
    comparedNs = boundOfNs;
    boundBefore = bound;
    boundOfNs = reading.sinceNs();
  }

  /** Returns the counts; empty until the first flow counts. */
  Optional<MirrorAccounting.Copies> now() {
    return counting && latest != null
        ? Optional.of(
            new MirrorAccounting.Copies(
                latest.copied(), arrivals.getLast().packets() - arrivedBefore, lost()))
        : Optional.empty();
  }

  /** Returns the incarnation of the monitor; 0 if none has reported. */
  long incarnation() {
    return incarnation;
  }

  /** Returns the number of packets known to be lost since this incarnation of the monitor began. */
  long lost() {
    return lostBefore + lost;
  }

  /**
   * Returns true if the packets copied until a time are accounted for: counters read since then
   * show that all have arrived, or counters read at least a second later were compared. Also true
   * if no flow counts.
   *
   * @param lostThen losses known at that time
   */
  boolean isSettled(long timeNs, long lostThen) {
    if (!counting || comparedNs >= timeNs + MOSTLY_LAG_NS) {
      return true;
    }
    boolean wasRead = latest != null && latest.sinceNs() >= timeNs;
    return wasRead
        && lost() == lostThen
        && latest.copied() - lost <= arrivals.getLast().packets() - arrivedBefore;
  }
}
