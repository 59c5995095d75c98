package io.tapline.control.diagnose;

import java.util.List;
import java.util.Map;

/**
 * How flows to one host share the way to it.
 *
 * @param nodes whose headers it rests on
 * @param missing nodes that gave none, and why
 * @param steps windows of event time, each with what had come by its end
 * @param flows the least first
 * @param links between switches, and what they brought to the host
 */
public record OutcastReport(
    List<String> nodes,
    Map<String, String> missing,
    long fromNs,
    long toNs,
    boolean outcast,
    List<Step> steps,
    List<Flow> flows,
    List<Link> links,
    List<String> verdict) {

  /**
   * One query.
   *
   * @param ratio of segments so far: of the flows over the fewest switches, each, to the greatest
   *     of all groups, each
   * @param leastToMost the same of single flows, the smallest to the largest
   */
  public record Step(long endNs, double ratio, double leastToMost) {}

  /**
   * A flow.
   *
   * @param hops switches on its way
   */
  public record Flow(
      FlowKey flow, int hops, long segments, long retransmissions, double bitsPerSecond) {}

  /**
   * A link that segments took.
   *
   * @param to the next switch; 0 for the host
   */
  public record Link(int from, int to, long segments) {}
}
