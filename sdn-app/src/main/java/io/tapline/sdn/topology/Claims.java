package io.tapline.sdn.topology;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Claims on addresses that belong to another host, while that host is being asked. Each claim is
 * decided on its own: a spoofed one does not prevent the claim of a host that has really moved from
 * being accepted. Undecided claims expire. Bounded for each port and switch. Not thread-safe.
 */
final class Claims {
  static final int MOST_AT_A_PORT = 64;
  static final int MOST_AT_A_SWITCH = 512;

  /** A claim on an IPv4 address at a port. */
  record Claim(int ip, long mac, SwitchPort at) {}

  private final long keepNs;

  /** When each claim was made; oldest first. */
  private final Map<Claim, Long> claims = new LinkedHashMap<>();

  private final Map<Integer, Set<Claim>> byIp = new HashMap<>();
  private final Places places = new Places(MOST_AT_A_PORT, MOST_AT_A_SWITCH);

  /** Claims that expire after this time. */
  Claims(long keepNs) {
    this.keepNs = keepNs;
  }

  /** Returns when a claim was made; empty if it was not, or has expired. */
  OptionalLong sinceNs(Claim claim, long nowNs) {
    forgetOld(nowNs);
    Long sinceNs = claims.get(claim);
    return sinceNs == null ? OptionalLong.empty() : OptionalLong.of(sinceNs);
  }

  private void forgetOld(long nowNs) {
    Iterator<Map.Entry<Claim, Long>> oldest = claims.entrySet().iterator();
    while (oldest.hasNext()) {
      Map.Entry<Claim, Long> each = oldest.next();
      if (nowNs - each.getValue() <= keepNs) {
        return;
      }
      oldest.remove();
      forgotten(each.getKey());
    }
  }

  private void forgotten(Claim claim) {
    places.remove(claim.at());
    Set<Claim> same = byIp.get(claim.ip());
    same.remove(claim);
    if (same.isEmpty()) {
      byIp.remove(claim.ip());
    }
  }

  /**
   * Adds a claim. REQUIRES: it does not exist.
   *
   * @return false if there are too many from there
   */
  boolean add(Claim claim, long nowNs) {
    if (!places.hasRoom(claim.at())) {
      return false;
    }
    claims.put(claim, nowNs);
    byIp.computeIfAbsent(claim.ip(), key -> new HashSet<>()).add(claim);
    places.add(claim.at());
    return true;
  }

  void remove(Claim claim) {
    if (claims.remove(claim) != null) {
      forgotten(claim);
    }
  }

  /** Removes all claims on an address; returns true if one of them was made at another port. */
  boolean remove(int ip, SwitchPort at) {
    Set<Claim> all = Set.copyOf(byIp.getOrDefault(ip, Set.of()));
    all.forEach(this::remove);
    return all.stream().anyMatch(claim -> !claim.at().equals(at));
  }
}
