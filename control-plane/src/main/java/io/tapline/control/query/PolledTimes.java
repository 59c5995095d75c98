package io.tapline.control.query;

import io.tapline.control.registry.AgentState;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Checks that hosts know exactly when packets arrived, for queries that measure queues. */
final class PolledTimes {
  private PolledTimes() {}

  /**
   * Returns a note for the query's author; empty if the kernel stamps the packets on every host of
   * the plan. REQUIRES: the query measures queues.
   */
  static Optional<String> note(Plan plan, List<AgentState> hosts) {
    Set<String> used =
        plan.getMonitorsList().stream().map(Monitor::getHost).collect(Collectors.toSet());
    List<String> polled =
        hosts.stream()
            .filter(host -> host.up() && host.polledTimes())
            .map(AgentState::name)
            .filter(name -> used.isEmpty() || used.contains(name))
            .sorted()
            .toList();
    if (polled.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        "packets are timestamped when they are polled on %s, so waiting times are off by up to about a millisecond; use agents with network interfaces (--interface or --tap), for which the kernel provides timestamps"
            .formatted(String.join(", ", polled)));
  }
}
