package io.tapline.control.query.monitors;

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
 * @param speed replay speed of files: "max", or "1x" for the speed of the capture
 * @param hosts hosts whose agents capture; empty for other sources
 */
public record Source(
    List<Path> files, String networkInterface, String speed, Optional<AgentRegistry> hosts) {
  public Source {
    files = List.copyOf(files);
    int kinds = (files.isEmpty() ? 0 : 1) + (networkInterface.isEmpty() ? 0 : 1);
    if (kinds + (hosts.isPresent() ? 1 : 0) != 1) {
      throw new IllegalArgumentException("a source is either files, an interface or hosts");
    }
  }

  public static Source files(List<Path> files, String speed) {
    return new Source(files, "", speed, Optional.empty());
  }

  public static Source networkInterface(String name) {
    return new Source(List.of(), name, "max", Optional.empty());
  }

  public static Source hosts(AgentRegistry registry) {
    return new Source(List.of(), "", "max", Optional.of(registry));
  }

  /** Returns why no monitor is available for a query; empty if one is. */
  public String unavailable() {
    boolean watched = hosts.isEmpty() || hosts.get().states().stream().anyMatch(AgentState::up);
    return watched
        ? ""
        : "no host's agent holds a lease: start tapline-agent --control-plane on the hosts";
  }

  /** Returns true if the source has no end and is the same for all queries. */
  public boolean live() {
    return files.isEmpty();
  }

  /** Returns the monitor's flags for this source. */
  List<String> flags() {
    if (live()) {
      return List.of("--interface", networkInterface);
    }
    List<String> flags = new ArrayList<>(List.of("--speed", speed));
    for (Path file : files) {
      flags.add("--pcap");
      flags.add(file.toString());
    }
    return flags;
  }
}
