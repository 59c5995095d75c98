package io.tapline.sdn.topology;

import io.tapline.sdn.flow.Mac;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Hosts by what they say in ARP, believed with care: an address that is somebody's is another's
 * only once the first does not answer at its old place any more, and an address that the inventory
 * knows is only believed under its own switch. Bounded. Not thread-safe.
 */
public final class HostTable {
  static final int MOST_HOSTS = 65_536;
  static final int MOST_AT_A_PORT = 64;
  static final int MOST_ADDRESSES = 16;
  private static final int MOST_CLAIMS = 1024;

  /** How long the one who was there first has to answer. */
  public static final long ANSWER_NS = 1_000_000_000L;

  /** A doubt that nobody has repeated for so long begins anew. */
  private static final long MOST_DOUBT_NS = 10 * ANSWER_NS;

  /** What became of a claim. */
  public enum Verdict {
    /** New, with another address, or at another place: routes change. */
    LEARNED,
    KNOWN,
    /** Somebody else is asked first. */
    ASK,
    /** Being asked. */
    WAIT,
    SPOOFED,
    TOO_MANY
  }

  /**
   * What to do about a claim.
   *
   * @param holder who is to be asked, if anybody
   */
  public record Answer(Verdict verdict, Optional<Host> holder) {
    private static Answer of(Verdict verdict) {
      return new Answer(verdict, Optional.empty());
    }
  }

  private record Claim(long mac, SwitchPort at, long sinceNs) {}

  private final Map<Integer, Long> switchOfAddress;
  private final Map<Long, Host> hosts = new HashMap<>();
  private final Map<Integer, Long> macOfIp = new HashMap<>();
  private final Map<SwitchPort, Integer> atPort = new HashMap<>();
  private final Map<Integer, Claim> claims = new HashMap<>();

  /** By port, since when its hosts are asked whether they are there. */
  private final Map<SwitchPort, Long> doubts = new HashMap<>();

  /**
   * A table.
   *
   * @param switchOfAddress datapath by IPv4 address, for those that the inventory knows
   */
  public HostTable(Map<Integer, Long> switchOfAddress) {
    this.switchOfAddress = Map.copyOf(switchOfAddress);
  }

  /** Somebody at a port says that an address is his. */
  public Answer claim(long mac, int ip, SwitchPort at, long nowNs) {
    Long pinned = switchOfAddress.get(ip);
    if (!Mac.isHost(mac) || pinned != null && pinned != at.datapath()) {
      return Answer.of(Verdict.SPOOFED);
    }
    Host host = hosts.get(mac);
    Host holder = macOfIp.containsKey(ip) ? hosts.get(macOfIp.get(ip)) : null;
    if (holder != null && holder.mac() != mac) {
      return contested(holder, mac, ip, at, nowNs);
    } else if (host != null && !host.at().equals(at)) {
      return contested(host, mac, ip, at, nowNs);
    }
    boolean known = holder != null;
    if (!known && !hasRoom(host, at)) {
      return Answer.of(Verdict.TOO_MANY);
    }
    Claim rival = claims.remove(ip);
    put(mac, ip, at, nowNs);
    boolean refuted = rival != null && !rival.at().equals(at);
    return Answer.of(refuted ? Verdict.SPOOFED : known ? Verdict.KNOWN : Verdict.LEARNED);
  }

  private boolean hasRoom(Host host, SwitchPort at) {
    return host != null
        ? host.ips().size() < MOST_ADDRESSES
        : hosts.size() < MOST_HOSTS && atPort.getOrDefault(at, 0) < MOST_AT_A_PORT;
  }

  private Answer contested(Host holder, long mac, int ip, SwitchPort at, long nowNs) {
    Claim claim = claims.get(ip);
    boolean same = claim != null && claim.mac() == mac && claim.at().equals(at);
    if (claim == null || nowNs - claim.sinceNs() > 10 * ANSWER_NS) {
      if (claim == null && claims.size() >= MOST_CLAIMS) {
        return Answer.of(Verdict.TOO_MANY);
      }
      claims.put(ip, new Claim(mac, at, nowNs));
      return new Answer(Verdict.ASK, Optional.of(holder));
    }
    if (!same || nowNs - claim.sinceNs() < ANSWER_NS) {
      return Answer.of(Verdict.WAIT);
    }
    claims.remove(ip);
    if (holder.seenNs() > claim.sinceNs()) {
      return Answer.of(Verdict.SPOOFED);
    }
    forget(holder);
    Host own = hosts.get(mac);
    if (own != null && !own.at().equals(at)) {
      forget(own);
    }
    if (!hasRoom(hosts.get(mac), at)) {
      return Answer.of(Verdict.TOO_MANY);
    }
    put(mac, ip, at, nowNs);
    return Answer.of(Verdict.LEARNED);
  }

  private void put(long mac, int ip, SwitchPort at, long nowNs) {
    Host before = hosts.get(mac);
    Set<Integer> ips = new HashSet<>(before == null ? Set.of() : before.ips());
    ips.add(ip);
    hosts.put(mac, new Host(mac, at, ips, nowNs));
    macOfIp.put(ip, mac);
    if (before == null) {
      atPort.merge(at, 1, Integer::sum);
    }
  }

  /** A host that a switch's flows tell of; nothing happens if it is known. */
  public void recover(long mac, SwitchPort at) {
    if (!hosts.containsKey(mac) && Mac.isHost(mac) && hasRoom(null, at)) {
      hosts.put(mac, new Host(mac, at, Set.of(), 0));
      atPort.merge(at, 1, Integer::sum);
    }
  }

  /** Forgets who is at a port; whether anybody was. */
  public boolean forget(SwitchPort port) {
    doubts.remove(port);
    if (!atPort.containsKey(port)) {
      return false;
    }
    Set.copyOf(hosts.values()).stream()
        .filter(host -> host.at().equals(port))
        .forEach(this::forget);
    return true;
  }

  private void forget(Host host) {
    hosts.remove(host.mac());
    host.ips().forEach(macOfIp::remove);
    atPort.computeIfPresent(host.at(), (port, count) -> count == 1 ? null : count - 1);
  }

  /**
   * Something speaks for a switch behind a port that hosts were learned at. They are to be asked:
   * who has not spoken within {@link #ANSWER_NS} is not there, and is forgotten with the next word.
   *
   * @return whom to ask now; empty while they have time to answer
   */
  public List<Host> doubt(SwitchPort port, long nowNs) {
    Long sinceNs = doubts.get(port);
    if (sinceNs != null && nowNs - sinceNs <= ANSWER_NS) {
      return List.of();
    }
    List<Host> there = hosts.values().stream().filter(host -> host.at().equals(port)).toList();
    if (sinceNs != null && nowNs - sinceNs < MOST_DOUBT_NS) {
      there.stream().filter(host -> host.seenNs() <= sinceNs).forEach(this::forget);
      there = there.stream().filter(host -> host.seenNs() > sinceNs).toList();
    }
    if (there.isEmpty()) {
      doubts.remove(port);
    } else {
      doubts.put(port, nowNs);
    }
    return there;
  }

  /** Whether anybody is at a port. */
  public boolean isTaken(SwitchPort port) {
    return atPort.containsKey(port);
  }

  public Optional<Host> byIp(int ip) {
    return Optional.ofNullable(macOfIp.get(ip)).map(hosts::get);
  }

  public Optional<Host> byMac(long mac) {
    return Optional.ofNullable(hosts.get(mac));
  }

  /** A view. */
  public Collection<Host> hosts() {
    return Collections.unmodifiableCollection(hosts.values());
  }
}
