package io.tapline.sdn.topology;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Links discovered by LLDP. A link exists once frames were received in both directions; it ends if
 * either direction is silent for {@link #SILENCE_NS} or a port goes down. Not thread-safe.
 */
public final class LinkTable {
  /** Three rounds of LLDP, with a margin. */
  public static final long SILENCE_NS = 7_000_000_000L;

  /** Result of an observed LLDP frame. */
  public enum Outcome {
    NEW,
    KNOWN,
    /** Replayed (too old or from the future), or received by the port that sent it. */
    STALE,
    /** The port belongs to another live link, so the frame was relayed. */
    CONFLICT
  }

  private record End(SwitchPort from, long heardNs) {}

  /** Sender and arrival time of the latest accepted frame, by receiving port. */
  private final Map<SwitchPort, End> observed = new HashMap<>();

  /** The senders in {@link #observed}. */
  private final Set<SwitchPort> senders = new HashSet<>();

  /** Handles a frame that left one port and arrived at another. */
  public Outcome observe(SwitchPort source, SwitchPort target, long sentNs, long nowNs) {
    if (nowNs - sentNs > SILENCE_NS || sentNs > nowNs || source.equals(target)) {
      return Outcome.STALE;
    }
    End previousEnd = observed.get(target);
    if (previousEnd != null && previousEnd.from().equals(source)) {
      observed.put(target, new End(source, nowNs));
      return Outcome.KNOWN;
    }
    if (isTaken(source, target, nowNs)) {
      return Outcome.CONFLICT;
    }
    observed.put(target, new End(source, nowNs));
    senders.add(source);
    return Outcome.NEW;
  }

  /** Returns true if either port has a live link to a third port. */
  private boolean isTaken(SwitchPort source, SwitchPort target, long nowNs) {
    return observed.entrySet().stream()
        .filter(entry -> nowNs - entry.getValue().heardNs() <= SILENCE_NS)
        .anyMatch(
            entry -> {
              SwitchPort a = entry.getKey();
              SwitchPort b = entry.getValue().from();
              boolean isSame =
                  a.equals(target) && b.equals(source) || a.equals(source) && b.equals(target);
              boolean touches =
                  a.equals(target) || a.equals(source) || b.equals(target) || b.equals(source);
              return touches && !isSame;
            });
  }

  /**
   * Removes links that have been silent for too long.
   *
   * @param excused disconnected switches, whose links keep their last state
   * @return true if anything changed
   */
  public boolean expire(long nowNs, Set<Long> excused) {
    return remove(
        entry ->
            nowNs - entry.getValue().heardNs() > SILENCE_NS
                && !excused.contains(entry.getKey().datapath())
                && !excused.contains(entry.getValue().from().datapath()));
  }

  /** Removes the links of a port; returns true if there were any. */
  public boolean forget(SwitchPort port) {
    return remove(entry -> entry.getKey().equals(port) || entry.getValue().from().equals(port));
  }

  /** Removes a switch's links; returns true if there were any. */
  public boolean forget(long datapath) {
    return remove(
        entry ->
            entry.getKey().datapath() == datapath
                || entry.getValue().from().datapath() == datapath);
  }

  /** Returns true if a port is the end of a link. */
  public boolean isEnd(SwitchPort port) {
    return observed.containsKey(port) || senders.contains(port);
  }

  private boolean remove(Predicate<Map.Entry<SwitchPort, End>> which) {
    if (!observed.entrySet().removeIf(which)) {
      return false;
    }
    senders.clear();
    observed.values().forEach(end -> senders.add(end.from()));
    return true;
  }

  /** Returns the links that work in both directions, as two entries each. */
  public Set<Link> links() {
    return observed.entrySet().stream()
        .filter(
            entry -> {
              End back = observed.get(entry.getValue().from());
              return back != null && back.from().equals(entry.getKey());
            })
        .map(entry -> new Link(entry.getValue().from(), entry.getKey()))
        .collect(Collectors.toCollection(() -> new TreeSet<>(LinkTable::compare)));
  }

  private static int compare(Link a, Link b) {
    int order = compare(a.from(), b.from());
    return order != 0 ? order : compare(a.to(), b.to());
  }

  private static int compare(SwitchPort a, SwitchPort b) {
    int datapath = Long.compareUnsigned(a.datapath(), b.datapath());
    return datapath != 0 ? datapath : Integer.compare(a.port(), b.port());
  }
}
