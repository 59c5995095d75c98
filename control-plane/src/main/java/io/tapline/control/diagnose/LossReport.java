package io.tapline.control.diagnose;

import java.util.List;
import java.util.Map;

/**
 * The losses, where they occurred and why.
 *
 * @param nodes nodes whose headers were used
 * @param missing nodes that sent no headers, with the reason
 * @param incomplete true if more headers matched than one request reads
 * @param verdict a sentence for each finding, or one that explains why there are none
 */
public record LossReport(
    List<String> nodes,
    Map<String, String> missing,
    boolean incomplete,
    List<Retransmitted> retransmissions,
    List<Finding> findings,
    List<String> verdict) {

  /** The cause of packet loss at a switch. */
  public enum Cause {
    /** Flows of the same priority need more than the link's capacity. */
    CONTENTION_OF_EQUALS,
    /** Flows of a higher priority leave too little capacity. */
    YIELDS_TO_PRIORITY,
    /** Losses at regular intervals without congestion. */
    PERIODIC_FAULT,
    /** Losses without congestion and without regular intervals. */
    FAULT
  }

  /**
   * A flow with retransmissions.
   *
   * @param priority IP precedence
   * @param intervals intervals between the retransmissions
   */
  public record Retransmitted(
      FlowKey flow, int priority, long segments, long retransmissions, Periodicity intervals) {}

  /**
   * A flow that used the congested link at the same time or, without congestion, a flow with
   * losses.
   *
   * @param payloadBytes bytes that it sent over the congested link; 0 without congestion
   * @param losses the flow's losses at this location
   */
  public record Contender(
      FlowKey flow, int priority, long segments, long payloadBytes, long losses) {}

  /**
   * Losses at one location.
   *
   * @param switches one switch, or several that can't be distinguished
   * @param next the switch after the link; 0 for the receiver, or if there is no single link
   */
  public record Finding(
      List<Integer> switches,
      int next,
      Cause cause,
      long losses,
      long fromNs,
      long toNs,
      Periodicity intervals,
      List<Contender> flows) {}
}
