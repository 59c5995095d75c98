package io.tapline.control.diagnose;

import java.util.List;
import java.util.Map;

/**
 * The flows to a host, and their shares of the path.
 *
 * @param nodes nodes whose headers were used
 * @param missing nodes that sent no headers, with the reason
 * @param steps event-time windows, each with the totals at its end
 * @param flows flows, in ascending order of segments
 * @param links links between switches, and the traffic that they carried to the host
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
   * The state of the flows at the end of an event-time window.
   *
   * @param ratio mean segments per flow so far over the fewest switches, divided by the largest
   *     such mean for any number of switches
   * @param leastToMost smallest number of segments per flow so far, divided by the largest
   */
  public record Step(long endNs, double ratio, double leastToMost) {}

  /**
   * A flow.
   *
   * @param hops number of switches on its path
   */
  public record Flow(
      FlowKey flow, int hops, long segments, long retransmissions, double bitsPerSecond) {}

  /**
   * A link on the paths of segments.
   *
   * @param to next switch; 0 for the host
   */
  public record Link(int from, int to, long segments) {}
}
