package io.tapline.control.query.monitors;

import java.util.ArrayList;
import java.util.List;

/**
 * Divides LIMIT Np among the parts of a query. Parts are granted packets and take them without
 * asking; they report when few are left.
 *
 * <pre>
 * taken ≤ granted for each part,  Σ granted ≤ N at any time
 * </pre>
 *
 * <p>Hence never more than N packets are taken, even if parts fail. A part gets half of its even
 * share of the free packets; when none are free and a part refuses packets, the others return their
 * remainder. Packets that a failed part had not reported count as taken. Does no I/O; not
 * thread-safe.
 */
final class PacketPool {
  /**
   * Minimum size of a grant, unless fewer packets are free: a smaller one is not worth a round
   * trip.
   */
  private static final long MIN_GRANT = 100;

  /**
   * A grant to a part.
   *
   * @param packets total number of packets that the part may take over the query's lifetime; 0 asks
   *     the part to return its remainder
   */
  record Grant(int part, long packets, long version) {}

  /**
   * A part's report.
   *
   * @param version version of the last grant that it received
   * @param granted total number of packets granted to the part since the query began
   * @param taken total number that it has taken since then
   * @param wanting true if few of the granted packets are left
   * @param refused true if it had to refuse a packet
   */
  record Report(long version, long granted, long taken, boolean wanting, boolean refused) {}

  private static final class Part {
    long granted;
    long taken;
    long version;
    boolean wanting;
    boolean refused;
    boolean returning;
  }

  private final long limit;
  private final List<Part> parts = new ArrayList<>();

  /**
   * Creates a pool whose parts already have these grants.
   *
   * @param granted total granted to each part, of which an unknown share has been taken
   * @param version lower than all versions that these parts will receive
   */
  PacketPool(long limit, List<Long> granted, long version) {
    this.limit = limit;
    for (long grant : granted) {
      Part part = new Part();
      part.granted = grant;
      part.version = version;
      parts.add(part);
    }
  }

  /** Returns the initial grant of each part, before any has reported. */
  static List<Long> shares(long limit, int parts) {
    List<Long> shares = new ArrayList<>();
    long free = limit;
    for (int i = 0; i < parts; i++) {
      shares.add(Math.min(free, half(limit, parts)));
      free -= shares.get(i);
    }
    return shares;
  }

  /** Returns half of an even share, rounded up. */
  private static long half(long packets, int parts) {
    return (packets + 2L * parts - 1) / (2L * parts);
  }

  long granted(int part) {
    return parts.get(part).granted;
  }

  /** Returns true if all N packets have been taken. */
  boolean used() {
    return parts.stream().mapToLong(part -> part.taken).sum() >= limit;
  }

  /** Returns a part's last grant. Resending this grant makes the part report. */
  Grant currentGrant(int index) {
    Part part = parts.get(index);
    return new Grant(index, part.returning ? 0 : part.granted, part.version);
  }

  /** Processes a part's report. Returns the resulting grants. */
  List<Grant> onReport(int index, Report report) {
    Part part = parts.get(index);
    part.taken = Math.max(part.taken, report.taken());
    if (report.version() != part.version) {
      part.granted = Math.max(part.granted, part.taken);
      return report.wanting() ? List.of(currentGrant(index)) : List.of();
    }
    part.granted = Math.max(part.taken, report.granted());
    part.returning = false;
    part.wanting = report.wanting();
    part.refused = report.refused();
    return decide();
  }

  /** Writes off a part together with its grant. */
  List<Grant> lost(int index) {
    Part part = parts.get(index);
    part.taken = part.granted;
    part.returning = false;
    part.wanting = false;
    part.refused = false;
    return decide();
  }

  private List<Grant> decide() {
    List<Grant> grants = new ArrayList<>();
    give(grants, true);
    give(grants, false);
    if (parts.stream().anyMatch(part -> part.refused)) {
      takeBack(grants);
    }
    return grants;
  }

  private long free() {
    return limit - parts.stream().mapToLong(part -> part.granted).sum();
  }

  /** Grants free packets; called first for parts that refuse packets, then for the others. */
  private void give(List<Grant> grants, boolean wasRefused) {
    for (int i = 0; i < parts.size(); i++) {
      Part part = parts.get(i);
      long free = free();
      if (free > 0 && part.wanting && part.refused == wasRefused && !part.returning) {
        part.granted += Math.max(half(free, parts.size()), Math.min(free, MIN_GRANT));
        part.wanting = false;
        part.refused = false;
        part.version++;
        grants.add(currentGrant(i));
      }
    }
  }

  private void takeBack(List<Grant> grants) {
    for (int i = 0; i < parts.size(); i++) {
      Part part = parts.get(i);
      if (part.granted > part.taken && !part.refused && !part.returning) {
        part.returning = true;
        part.version++;
        grants.add(currentGrant(i));
      }
    }
  }
}
