package io.tapline.control.diagnose;

import io.tapline.control.diagnose.PathReport.Violation;
import io.tapline.control.drill.DrillException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Path conformance (§5.2): finds packets that violated a rule by traversing or bypassing a switch.
 */
final class PathDiagnosis {
  private final Headers headers;
  private final String filter;
  private final List<Long> avoid;
  private final List<Long> through;

  /**
   * Creates the diagnosis of a rule.
   *
   * @param filter packets that the rule applies to; empty for all
   * @param avoid switches that the packets must not traverse
   * @param through switches that the packets must traverse
   */
  PathDiagnosis(Headers headers, String filter, List<Long> avoid, List<Long> through) {
    this.headers = headers;
    this.filter = filter;
    this.avoid = avoid;
    this.through = through;
  }

  PathReport run() throws DrillException {
    String about = filter.isBlank() ? "has(hops)" : "has(hops) && (" + filter + ")";
    String wrong = about + " && (" + broken() + ")";
    Map<FlowKey, Double> all = headers.byFlow(about, "COUNT");
    Map<FlowKey, Double> violating = headers.byFlow(wrong, "COUNT");
    Map<FlowKey, Double> first = headers.byFlow(wrong, "MIN(time)");
    List<Violation> violations = new ArrayList<>();
    violating.forEach(
        (flow, count) ->
            violations.add(
                new Violation(
                    flow,
                    all.getOrDefault(flow, count).longValue(),
                    count.longValue(),
                    first.getOrDefault(flow, 0.0).longValue())));
    long packets = (long) all.values().stream().mapToDouble(Double::doubleValue).sum();
    return new PathReport(
        headers.view().nodes(),
        headers.view().missing(),
        packets,
        violations,
        List.of(verdict(packets, violations)));
  }

  private String broken() {
    List<String> ways = new ArrayList<>();
    avoid.forEach(point -> ways.add("path contains " + point));
    through.forEach(point -> ways.add("path not contains " + point));
    return String.join(" || ", ways);
  }

  private static String verdict(long packets, List<Violation> violations) {
    if (packets == 0) {
      return "no result: no packet has telemetry";
    }
    if (violations.isEmpty()) {
      return "no violation: all %,d packets took a permitted path".formatted(packets);
    }
    long wrong = violations.stream().mapToLong(Violation::violating).sum();
    return "%,d of %,d packets violated the rule, from %s"
        .formatted(
            wrong,
            packets,
            violations.stream()
                .limit(3)
                .map(violation -> violation.flow().text())
                .collect(Collectors.joining(", ", "", violations.size() > 3 ? ", …" : "")));
  }
}
