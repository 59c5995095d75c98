package io.tapline.sdn.topology;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Pending claims on addresses of another host while the controller probes that host. Each claim is
 * decided independently, so a spoofed claim can't block the claim of a host that has really moved.
 * Undecided claims expire. Bounded per port and switch. Not thread-safe.
 */
final class Claims {
  static final int MAX_PER_PORT = 64;
  static final int MAX_PER_SWITCH = 512;

  /** A claim on an IPv4 address at a port. */
  record Claim(int ip, long mac, SwitchPort at) {}

  private final long keepNs;

  /** Time of each claim, oldest first. */
  private final Map<Claim, Long> claims = new LinkedHashMap<>();

  private final Map<Integer, Set<Claim>> byIp = new HashMap<>();
  private final Places places = new Places(MAX_PER_PORT, MAX_PER_SWITCH);

  /** Creates claims that expire after this time. */
  Claims(long keepNs) {
    this.keepNs = keepNs;
  }

  /** Returns the time at which a claim was made; empty if it was not made or has expired. */
  OptionalLong sinceNs(Claim claim, long nowNs) {
    forgetOld(nowNs);
    Long sinceNs = claims.get(claim);
    return sinceNs == null ? OptionalLong.empty() : OptionalLong.of(sinceNs);
  }

  private void forgetOld(long nowNs) {
    Iterator<Map.Entry<Claim, Long>> oldest = claims.entrySet().iterator();
    while (oldest.hasNext()) {
      Map.Entry<Claim, Long> entry = oldest.next();
      if (nowNs - entry.getValue() <= keepNs) {
        return;
      }
      oldest.remove();
      forgotten(entry.getKey());
    }
  }

  private void forgotten(Claim claim) {
    places.remove(claim.at());
    Set<Claim> sameClaims = byIp.get(claim.ip());
    sameClaims.remove(claim);
    if (sameClaims.isEmpty()) {
      byIp.remove(claim.ip());
    }
  }

  /**
   * Adds a claim. REQUIRES: it does not exist.
   *
   * @return false if that port or switch has too many claims
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

  /** Removes all claims on an address; returns true if one of them was from another port. */
  boolean remove(int ip, SwitchPort port) {
    Set<Claim> all = Set.copyOf(byIp.getOrDefault(ip, Set.of()));
    all.forEach(this::remove);
    return all.stream().anyMatch(claim -> !claim.at().equals(port));
  }
}
