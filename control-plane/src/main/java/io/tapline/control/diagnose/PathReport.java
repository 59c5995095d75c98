package io.tapline.control.diagnose;

import java.util.List;
import java.util.Map;

/**
 * Which packets went where they should not.
 *
 * @param nodes whose headers it rests on
 * @param missing nodes that gave none, and why
 * @param packets with telemetry
 * @param violations by flow, the most first
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
   * @param packets of it, with telemetry
   * @param violating those that went wrong
   * @param firstNs when the first of them came
   */
  public record Violation(FlowKey flow, long packets, long violating, long firstNs) {}
}
