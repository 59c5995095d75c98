package io.tapline.control.diagnose;

import io.tapline.control.drill.DrillException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Finds switches that may have lost packets without a queue. All victims traversed such a switch,
 * and too few other flows traversed it without loss to exclude it. If this excludes every switch,
 * all switches that the victims share are suspects.
 */
final class Suspects {
  /**
   * Expected number of losses among a switch's unharmed flows, at the victims' loss rate, that
   * clears the switch.
   */
  private static final double EXPECTED_LOSSES = 4;

  private final Headers headers;
  private final Map<FlowKey, Double> segments;
  private final Map<FlowKey, Long> losses;

  Suspects(Headers headers, Map<FlowKey, Double> segments, Map<FlowKey, Long> losses) {
    this.headers = headers;
    this.segments = segments;
    this.losses = losses;
  }

  List<Integer> find(List<LossEvent> events) throws DrillException {
    Set<Integer> common = new LinkedHashSet<>(events.get(0).path());
    events.forEach(event -> common.retainAll(event.path()));
    double lost = losses.values().stream().mapToLong(Long::longValue).sum();
    double sent =
        losses.keySet().stream().mapToDouble(flow -> segments.getOrDefault(flow, 0.0)).sum();
    List<Integer> left = new ArrayList<>();
    for (int index : common) {
      if (unharmed(index) * lost / (sent + lost) < EXPECTED_LOSSES) {
        left.add(index);
      }
    }
    return left.isEmpty() ? List.copyOf(common) : left;
  }

  /** Returns the number of segments that traversed the switch and whose flows have no losses. */
  private double unharmed(int switchId) throws DrillException {
    double sum = 0;
    String filter = Headers.DATA + " && path contains " + switchId;
    for (Map.Entry<FlowKey, Double> flow : headers.byFlow(filter, "COUNT").entrySet()) {
      sum += losses.containsKey(flow.getKey()) ? 0 : flow.getValue();
    }
    return sum;
  }
}
