package io.tapline.control.query;

import io.tapline.control.registry.AgentRegistry;
import io.tapline.control.registry.AgentState;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A query's source of packets.
 *
 * @param files capture files, merged by time; empty for other sources
 * @param networkInterface interface of this host; empty for other sources
 * @param taps taps of switches that come to this host, all of them files or all interfaces, beside
 *     the files or the interface
 * @param speed replay speed of files: "max", or "1x" for the speed of the capture
 * @param hosts hosts whose agents capture; empty for other sources
 */
public record Source(
    List<Path> files,
    String networkInterface,
    List<Tap> taps,
    String speed,
    Optional<AgentRegistry> hosts) {
  public Source {
    files = List.copyOf(files);
    taps = List.copyOf(taps);
    boolean anyFile = !files.isEmpty() || taps.stream().anyMatch(Tap::file);
    boolean anyInterface = !networkInterface.isEmpty() || !taps.stream().allMatch(Tap::file);
    if ((anyFile ? 1 : 0) + (anyInterface ? 1 : 0) + (hosts.isPresent() ? 1 : 0) != 1) {
      throw new IllegalArgumentException("a source is either files, interfaces or hosts");
    }
  }

  public static Source files(List<Path> files, String speed) {
    return new Source(files, "", List.of(), speed, Optional.empty());
  }

  public static Source networkInterface(String name) {
    return new Source(List.of(), name, List.of(), "max", Optional.empty());
  }

  public static Source hosts(AgentRegistry registry) {
    return new Source(List.of(), "", List.of(), "max", Optional.of(registry));
  }

  /** Returns why no monitor is available for a query; empty if one is. */
  public String unavailable() {
    boolean watched = hosts.isEmpty() || hosts.get().states().stream().anyMatch(AgentState::up);
    return watched
        ? ""
        : "no host's agent holds a lease: start tapline-agent --control-plane on the hosts";
  }

  /** Returns true if the source has no end and is the same for all queries. */
  boolean live() {
    return files.isEmpty() && !taps.stream().anyMatch(Tap::file);
  }

  /** Returns the monitor's flags for this source. */
  List<String> flags() {
    List<String> flags = new ArrayList<>();
    if (!live()) {
      flags.addAll(List.of("--speed", speed));
    }
    if (!networkInterface.isEmpty()) {
      flags.addAll(List.of("--interface", networkInterface));
    }
    files.forEach(file -> flags.addAll(List.of("--pcap", file.toString())));
    taps.forEach(tap -> flags.addAll(List.of("--tap", tap.text())));
    return flags;
  }
}
