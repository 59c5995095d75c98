package io.tapline.control.diagnose;

import java.util.List;
import java.util.Map;

/**
 * Packets that violated a path rule.
 *
 * @param nodes nodes whose headers were used
 * @param missing nodes that sent no headers, with the reason
 * @param packets packets with telemetry
 * @param violations violations by flow, in descending order of packets
 */
public record PathReport(
    List<String> nodes,
    Map<String, String> missing,
    long packets,
    List<Violation> violations,
    List<String> verdict) {

  /**
   * A flow that violated the rule.
   *
   * @param packets its packets with telemetry
   * @param violating its packets that violated the rule
   * @param firstNs arrival time of the first violating packet
   */
  public record Violation(FlowKey flow, long packets, long violating, long firstNs) {}
}
