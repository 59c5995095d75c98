package io.tapline.control.diagnose;

import java.util.List;
import java.util.Map;

/**
 * Packets that violated a path rule.
 *
 * @param nodes nodes whose headers were used
 * @param missing nodes that sent none, and why
 * @param packets packets with telemetry
 * @param violations violations by flow, most first
 */
public record PathReport(
    List<String> nodes,
    Map<String, String> missing,
    long packets,
    List<Violation> violations,
    List<String> verdict) {

  /**
   * A flow.
   *
   * @param packets its packets with telemetry
   * @param violating those that violated the rule
   * @param firstNs when the first of them arrived
   */
  public record Violation(FlowKey flow, long packets, long violating, long firstNs) {}
}
