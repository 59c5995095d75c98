package io.tapline.control.diagnose;

import java.util.List;
import java.util.Map;

/**
 * What was lost, where and why.
 *
 * @param nodes whose headers it rests on
 * @param missing nodes that gave none, and why
 * @param incomplete more headers matched than are read at once
 * @param verdict a sentence for each finding
 */
public record LossReport(
    List<String> nodes,
    Map<String, String> missing,
    boolean incomplete,
    List<Retransmitted> retransmissions,
    List<Finding> findings,
    List<String> verdict) {

  /** Why packets are lost at a switch. */
  public enum Cause {
    /** Flows of the same priority want more than the link has. */
    CONTENTION_OF_EQUALS,
    /** Flows of a higher priority leave too little. */
    YIELDS_TO_PRIORITY,
    /** At even intervals, while there is room. */
    PERIODIC_FAULT,
    /** While there is room, and at no even intervals. */
    FAULT
  }

  /**
   * A flow with retransmissions.
   *
   * @param priority IP precedence
   * @param intervals between them
   */
  public record Retransmitted(
      FlowKey flow, int priority, long segments, long retransmissions, Periodicity intervals) {}

  /**
   * A flow that passed the link meanwhile.
   *
   * @param losses of those at this switch
   */
  public record Contender(
      FlowKey flow, int priority, long segments, long payloadBytes, long losses) {}

  /**
   * Losses at one place.
   *
   * @param switches one, or those that can't be told apart
   * @param next the switch behind the link; 0 for the receiver, or where there is no one link
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
