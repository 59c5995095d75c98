package io.tapline.control.registry;

import io.tapline.schema.proto.Plan;

/**
 * An assignment of a query to a host.
 *
 * @param inherited true if an earlier control plane made the assignment, and the agent has not
 *     reported it since
 * @param ending true if the agent was asked to end it, or will be when it connects
 * @param rate the last rate sent to the agent, or to be sent when it connects; 0 for none
 * @param mirrored true if switches copy its packets; the agent was notified of that, or will be
 *     when it connects
 */
record Assigned(
    int epoch,
    Plan plan,
    AssignmentEvents events,
    boolean inherited,
    boolean ending,
    double rate,
    boolean mirrored) {
  Assigned onMessage() {
    return new Assigned(epoch, plan, events, false, ending, rate, mirrored);
  }

  Assigned ended() {
    return new Assigned(epoch, plan, events, inherited, true, rate, mirrored);
  }

  Assigned limited(double newRate) {
    return new Assigned(epoch, plan, events, inherited, ending, newRate, mirrored);
  }

  Assigned copied() {
    return new Assigned(epoch, plan, events, inherited, ending, rate, true);
  }
}
