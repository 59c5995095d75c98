package io.tapline.control.query.monitors;

import io.tapline.compiler.taps.KnownTaps;
import io.tapline.compiler.taps.PortNames;
import io.tapline.control.Tap;
import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.AgentState;
import io.tapline.control.registry.AgentTap;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A query's source of packets.
 *
 * @param files capture files, merged by time; empty for other sources
 * @param taps taps of this host, read in addition to {@code files}: all of them files, or all of
 *     them interfaces; empty for agents
 * @param speed replay speed of files: "max", or "1x" for the speed of the capture
 * @param hosts hosts whose agents capture; empty for files and taps
 * @param local true if those agents all capture on the same interface of this host and one of them
 *     serves a query; else each host has its own part
 */
public record Source(
    List<Path> files, List<Tap> taps, String speed, Optional<AgentRegistry> hosts, boolean local) {
  public Source {
    files = List.copyOf(files);
    taps = List.copyOf(taps);
    if ((files.isEmpty() && taps.isEmpty()) == hosts.isEmpty()) {
      throw new IllegalArgumentException(
          "a source has either files and taps, or hosts, but not both");
    }
    boolean anyFile = !files.isEmpty() || taps.stream().anyMatch(Tap::file);
    if (anyFile && !taps.stream().allMatch(Tap::file)) {
      throw new IllegalArgumentException("taps must be all files or all interfaces");
    }
  }

  public static Source files(List<Path> files, String speed) {
    return new Source(files, List.of(), speed, Optional.empty(), false);
  }

  /** Returns a source of files and of this host's taps, which the query's own monitor reads. */
  public static Source taps(List<Path> files, List<Tap> taps, String speed) {
    return new Source(files, taps, speed, Optional.empty(), false);
  }

  /** Returns the interfaces of this host as a source. */
  public static Source local(AgentRegistry registry) {
    return new Source(List.of(), List.of(), "max", Optional.of(registry), true);
  }

  public static Source hosts(AgentRegistry registry) {
    return new Source(List.of(), List.of(), "max", Optional.of(registry), false);
  }

  /** Returns the hosts that switches can copy packets to; empty for other sources. */
  public Optional<AgentRegistry> networkHosts() {
    return hosts.filter(ignored -> !local);
  }

  /** Returns the taps of the monitors that are up, with their ports resolved. */
  public KnownTaps knownTaps(PortNames ports) {
    return hosts
        .map(
            registry ->
                new KnownTaps(
                    registry.states().stream()
                        .filter(AgentState::up)
                        .map(
                            agent ->
                                agent.taps().stream()
                                    .map(AgentTap::place)
                                    .map(ports::place)
                                    .toList())
                        .toList()))
        .orElseGet(() -> KnownTaps.ofOptions(taps.stream().map(Tap::text).toList()));
  }

  /** Returns why no monitor is available for a query; empty if one is. */
  public String unavailable() {
    boolean watched = hosts.isEmpty() || hosts.get().states().stream().anyMatch(AgentState::up);
    if (!watched && local) {
      return "the agent of this host is restarting";
    }
    return watched
        ? ""
        : "no host's agent holds a lease: start tapline-agent --control-plane on the hosts";
  }

  /** Returns the hosts whose agents are too old to change the triggers of a running query. */
  public List<String> withoutTriggerChanges() {
    return hosts.stream()
        .flatMap(registry -> registry.states().stream())
        .filter(agent -> agent.up() && !agent.changesTriggers())
        .map(AgentState::name)
        .toList();
  }

  /**
   * Returns true if the source is live traffic, which has no end and is the same for all queries.
   */
  public boolean live() {
    return files.isEmpty() && taps.stream().noneMatch(Tap::file);
  }

  /** Returns the flags of the query's own monitor. */
  List<String> flags() {
    List<String> flags = new ArrayList<>();
    if (!live()) {
      flags.addAll(List.of("--speed", speed));
    }
    files.forEach(file -> flags.addAll(List.of("--pcap", file.toString())));
    taps.forEach(tap -> flags.addAll(List.of("--tap", tap.text())));
    return flags;
  }
}
