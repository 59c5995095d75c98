package io.tapline.control.query;

import java.util.ArrayList;
import java.util.List;

/**
 * LIMIT Np over the parts of a query: who may take how many. Parts are lent packets and take them
 * without asking; they say when little is left.
 *
 * <pre>
 * taken ≤ granted for each part,  Σ granted ≤ N at any time
 * </pre>
 *
 * <p>So never more than N are taken, whoever dies. A part gets half of its even share of what is
 * free; where nothing is free and a part refuses packets, the others give back what they have left.
 * What a part that died had not said it took counts as taken. Pure; not thread-safe.
 */
final class PacketPool {
  /** Fewer are not worth a round trip, unless no more are free. */
  private static final long LEAST = 100;

  /**
   * What a part is told.
   *
   * @param packets that it may take in all, from the query's beginning on; 0: it is to give back
   */
  record Grant(int part, long packets, long version) {}

  /**
   * What a part says.
   *
   * @param version of the last grant that it has heard
   * @param granted and taken, from the query's beginning on
   * @param wanting little is left
   * @param refused a packet found nothing left
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
   * Of parts that hold so much.
   *
   * @param granted by part; what of it they have taken is not known
   * @param version below all that these parts hear of
   */
  PacketPool(long limit, List<Long> granted, long version) {
    this.limit = limit;
    for (long each : granted) {
      Part part = new Part();
      part.granted = each;
      part.version = version;
      parts.add(part);
    }
  }

  /** What each of so many parts may take before any is heard of. */
  static List<Long> shares(long limit, int parts) {
    List<Long> shares = new ArrayList<>();
    long free = limit;
    for (int i = 0; i < parts; i++) {
      shares.add(Math.min(free, half(limit, parts)));
      free -= shares.get(i);
    }
    return shares;
  }

  /** Half an even share, at least one. */
  private static long half(long packets, int parts) {
    return (packets + 2L * parts - 1) / (2L * parts);
  }

  long granted(int part) {
    return parts.get(part).granted;
  }

  /** Whether all N are taken. */
  boolean used() {
    return parts.stream().mapToLong(part -> part.taken).sum() >= limit;
  }

  /** What a part was told last, to be told again: the answer says how far it is. */
  Grant again(int index) {
    Part part = parts.get(index);
    return new Grant(index, part.returning ? 0 : part.granted, part.version);
  }

  /** What follows from a part's word. */
  List<Grant> heard(int index, Report report) {
    Part part = parts.get(index);
    part.taken = Math.max(part.taken, report.taken());
    if (report.version() != part.version) {
      part.granted = Math.max(part.granted, part.taken);
      return report.wanting() ? List.of(again(index)) : List.of();
    }
    part.granted = Math.max(part.taken, report.granted());
    part.returning = false;
    part.wanting = report.wanting();
    part.refused = report.refused();
    return decide();
  }

  /** A part is gone with what it held. */
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

  /** Those that refuse packets come first. */
  private void give(List<Grant> grants, boolean refused) {
    for (int i = 0; i < parts.size(); i++) {
      Part part = parts.get(i);
      long free = free();
      if (free > 0 && part.wanting && part.refused == refused && !part.returning) {
        part.granted += Math.max(half(free, parts.size()), Math.min(free, LEAST));
        part.wanting = false;
        part.refused = false;
        part.version++;
        grants.add(again(i));
      }
    }
  }

  private void takeBack(List<Grant> grants) {
    for (int i = 0; i < parts.size(); i++) {
      Part part = parts.get(i);
      if (part.granted > part.taken && !part.refused && !part.returning) {
        part.returning = true;
        part.version++;
        grants.add(again(i));
      }
    }
  }
}
