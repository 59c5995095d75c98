package io.tapline.control.query;

import com.google.protobuf.util.Durations;
import io.tapline.control.registry.AgentState;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.Processor;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Checks that the clocks of a query's hosts, which stamp its tuples, agree closely enough for its
 * windows.
 */
final class Clocks {
  /** Maximum clock difference, as a share of the query's window slide. */
  private static final double MAX_SHARE = 0.01;

  private static final double NS_PER_MS = 1e6;

  private Clocks() {}

  /**
   * Returns a note for the query's author; empty if the clocks agree, fewer than two hosts have
   * measured theirs, or the query has no windows.
   */
  static Optional<String> note(Plan plan, List<AgentState> hosts) {
    List<AgentState> measuredStates =
        hosts.stream()
            .filter(AgentState::up)
            .filter(host -> host.clock() != null)
            .sorted(Comparator.comparingLong(host -> host.clock().offsetNs()))
            .toList();
    long stepNs = stepNs(plan);
    if (measuredStates.size() < 2 || stepNs == 0) {
      return Optional.empty();
    }
    AgentState slowest = measuredStates.get(0);
    AgentState fastest = measuredStates.get(measuredStates.size() - 1);
    long differenceNs = fastest.clock().offsetNs() - slowest.clock().offsetNs();
    long errorNs = fastest.clock().errorNs() + slowest.clock().errorNs();
    if (differenceNs + errorNs <= MAX_SHARE * stepNs) {
      return Optional.empty();
    }
    return Optional.of(
        String.format(
            Locale.ROOT,
            "the clock of %s is %.1f ms ahead of that of %s (±%.1f ms), more than %.0f %% of the %.0f ms by which"
                + " windows advance: simultaneous tuples may fall into different windows",
            fastest.name(),
            differenceNs / NS_PER_MS,
            slowest.name(),
            errorNs / NS_PER_MS,
            100 * MAX_SHARE,
            stepNs / NS_PER_MS));
  }

  private static long stepNs(Plan plan) {
    return plan.getProcessorsList().stream()
        .map(Processor::getWindow)
        .mapToLong(window -> Durations.toNanos(window.getSlide()))
        .filter(ns -> ns > 0)
        .min()
        .orElse(0);
  }
}
