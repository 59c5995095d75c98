package io.tapline.sdn.topology;

import io.tapline.sdn.flow.Mac;
import io.tapline.sdn.topology.Claims.Claim;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Hosts learned from ARP, with protection against spoofing: an address moves to another host only
 * if its owner no longer answers at the old port, and an address in the inventory is accepted only
 * under its own switch. Bounded. Not thread-safe.
 */
public final class HostTable {
  static final int MAX_HOSTS = 65_536;
  static final int MAX_PER_PORT = 64;
  static final int MAX_ADDRESSES = 16;
  static final int MAX_PER_SWITCH = 4096;
  private static final int MAX_PROBED_ADDRESSES = 16;

  /** Time for the previous owner of an address to answer. */
  public static final long RESPONSE_NS = 1_000_000_000L;

  /** Time after which hosts are probed again if a switch still seems to be behind their port. */
  private static final long MAX_VERIFICATION_NS = 10 * RESPONSE_NS;

  /** Verdict on a host's claim to an address. */
  public enum Verdict {
    /** A new host, address or location, which changes routes. */
    LEARNED,
    KNOWN,
    /** Another host must be probed first. */
    PROBE,
    /** Another host is being probed. */
    WAIT,
    SPOOFED,
    TOO_MANY
  }

  /**
   * A host to probe at its last location.
   *
   * @param ip address for which the host answers if it is still there
   */
  public record Question(Host host, int ip) {}

  /** Verdict on a claim, with the probes to send. */
  public record Answer(Verdict verdict, List<Question> questions) {
    private static Answer of(Verdict verdict) {
      return new Answer(verdict, List.of());
    }
  }

  private final Map<Integer, Long> switchOfAddress;
  private final Map<Long, Host> hosts = new HashMap<>();
  private final Map<Integer, Long> macOfIp = new HashMap<>();
  private final Places places = new Places(MAX_PER_PORT, MAX_PER_SWITCH);
  private final Claims claims = new Claims(10 * RESPONSE_NS);

  /** Time at which each port's hosts were last probed because a switch seemed to be behind it. */
  private final Map<SwitchPort, Long> doubts = new HashMap<>();

  /**
   * Creates a table.
   *
   * @param switchOfAddress datapath by IPv4 address, for the inventory's addresses
   */
  public HostTable(Map<Integer, Long> switchOfAddress) {
    this.switchOfAddress = Map.copyOf(switchOfAddress);
  }

  /** Handles a claim on an address at a port. */
  public Answer claim(long mac, int ip, SwitchPort port, long nowNs) {
    Long pinned = switchOfAddress.get(ip);
    if (!Mac.isHost(mac) || pinned != null && pinned != port.datapath()) {
      return Answer.of(Verdict.SPOOFED);
    }
    Host host = hosts.get(mac);
    Host holder = macOfIp.containsKey(ip) ? hosts.get(macOfIp.get(ip)) : null;
    List<Host> otherHosts = new ArrayList<>();
    if (holder != null && holder.mac() != mac) {
      otherHosts.add(holder);
    }
    if (host != null && !host.at().equals(port)) {
      otherHosts.add(host);
    }
    if (!otherHosts.isEmpty()) {
      return contested(otherHosts, new Claim(ip, mac, port), nowNs);
    }
    boolean isKnown = holder != null;
    if (!isKnown && !hasRoom(host, port)) {
      return Answer.of(Verdict.TOO_MANY);
    }
    boolean refuted = claims.remove(ip, port);
    put(mac, ip, port, nowNs);
    return Answer.of(!isKnown ? Verdict.LEARNED : refuted ? Verdict.SPOOFED : Verdict.KNOWN);
  }

  private boolean hasRoom(Host host, SwitchPort port) {
    return host != null
        ? host.ips().size() < MAX_ADDRESSES
        : hosts.size() < MAX_HOSTS && places.hasRoom(port);
  }

  /**
   * Handles a claim on an IPv4 address, an Ethernet address or both that belong to other hosts. The
   * claim succeeds only if none of these hosts answers.
   */
  private Answer contested(List<Host> otherHosts, Claim claim, long nowNs) {
    OptionalLong sinceNs = claims.sinceNs(claim, nowNs);
    if (sinceNs.isEmpty()) {
      return claims.add(claim, nowNs)
          ? new Answer(Verdict.PROBE, questions(otherHosts, claim.ip()))
          : Answer.of(Verdict.TOO_MANY);
    }
    if (nowNs - sinceNs.getAsLong() < RESPONSE_NS) {
      return Answer.of(Verdict.WAIT);
    }
    claims.remove(claim);
    if (otherHosts.stream().anyMatch(otherHost -> otherHost.seenNs() > sinceNs.getAsLong())) {
      return Answer.of(Verdict.SPOOFED);
    }
    otherHosts.forEach(this::forget);
    if (!hasRoom(hosts.get(claim.mac()), claim.at())) {
      return Answer.of(Verdict.TOO_MANY);
    }
    put(claim.mac(), claim.ip(), claim.at(), nowNs);
    return Answer.of(Verdict.LEARNED);
  }

  /**
   * Returns the probes for other hosts. A host that does not have the claimed address is probed for
   * its own addresses, since it may not answer for one that another host claims.
   */
  private List<Question> questions(List<Host> otherHosts, int claimed) {
    List<Question> questions = new ArrayList<>();
    for (Host otherHost : otherHosts) {
      Set<Integer> own = addressesToProbe(otherHost);
      if (own.isEmpty() || own.contains(claimed)) {
        questions.add(new Question(otherHost, claimed));
      }
      own.stream()
          .filter(ip -> ip != claimed && !otherHost.ips().contains(claimed))
          .sorted()
          .limit(MAX_PROBED_ADDRESSES)
          .forEach(ip -> questions.add(new Question(otherHost, ip)));
    }
    return questions;
  }

  /**
   * Returns the addresses that a host may be probed for. A host that is known only from flows has
   * no known addresses, so these are the inventory's addresses under its switch.
   */
  private Set<Integer> addressesToProbe(Host host) {
    return host.ips().isEmpty() ? addressesAt(host.at()) : host.ips();
  }

  private Set<Integer> addressesAt(SwitchPort port) {
    return switchOfAddress.entrySet().stream()
        .filter(entry -> entry.getValue() == port.datapath())
        .map(Map.Entry::getKey)
        .collect(Collectors.toSet());
  }

  private void put(long mac, int ip, SwitchPort port, long nowNs) {
    Host previousHost = hosts.get(mac);
    Set<Integer> ips = new HashSet<>(previousHost == null ? Set.of() : previousHost.ips());
    ips.add(ip);
    hosts.put(mac, new Host(mac, port, ips, nowNs));
    macOfIp.put(ip, mac);
    if (previousHost == null) {
      places.add(port);
    }
  }

  /** Adds a host recovered from a switch's flows; does nothing if it is known. */
  public void recover(long mac, SwitchPort port) {
    if (!hosts.containsKey(mac) && Mac.isHost(mac) && hasRoom(null, port)) {
      hosts.put(mac, new Host(mac, port, Set.of(), 0));
      places.add(port);
    }
  }

  /** Removes the hosts at a port; returns true if there were any. */
  public boolean forget(SwitchPort port) {
    doubts.remove(port);
    if (!places.isTaken(port)) {
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
    places.remove(host.at());
  }

  /**
   * Handles a sign of a switch behind a port at which hosts were learned. The hosts must be probed:
   * one that has not sent a packet within {@link #RESPONSE_NS} is removed at the next sign.
   *
   * @return the probes to send now: none while the hosts have time to answer, and none for hosts
   *     without a known address
   */
  public List<Question> doubt(SwitchPort port, long nowNs) {
    Long sinceNs = doubts.get(port);
    if (sinceNs != null && nowNs - sinceNs <= RESPONSE_NS) {
      return List.of();
    }
    List<Host> attached = hosts.values().stream().filter(host -> host.at().equals(port)).toList();
    if (sinceNs != null && nowNs - sinceNs < MAX_VERIFICATION_NS) {
      attached.stream().filter(host -> host.seenNs() <= sinceNs).forEach(this::forget);
      attached = attached.stream().filter(host -> host.seenNs() > sinceNs).toList();
    }
    if (attached.isEmpty()) {
      doubts.remove(port);
    } else {
      doubts.put(port, nowNs);
    }
    return attached.stream().flatMap(this::questions).toList();
  }

  private Stream<Question> questions(Host host) {
    return addressesToProbe(host).stream()
        .sorted()
        .limit(MAX_PROBED_ADDRESSES)
        .map(ip -> new Question(host, ip));
  }

  /** Returns true if there is a host at a port. */
  public boolean isTaken(SwitchPort port) {
    return places.isTaken(port);
  }

  public Optional<Host> byIp(int ip) {
    return Optional.ofNullable(macOfIp.get(ip)).map(hosts::get);
  }

  public Optional<Host> byMac(long mac) {
    return Optional.ofNullable(hosts.get(mac));
  }

  /** Returns an unmodifiable view of all hosts. */
  public Collection<Host> hosts() {
    return Collections.unmodifiableCollection(hosts.values());
  }
}
