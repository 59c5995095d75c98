package io.tapline.control.registry;

import io.tapline.schema.proto.Plan;

/** Assigns queries to hosts, through their agents. Thread-safe. */
public interface Assignments {
  /**
   * Assigns a query to a host, which need not be up: it has the grace period to connect.
   *
   * @param plan plan that contains only that agent's monitor
   * @return false if the query was already assigned to the host
   */
  boolean assign(String agent, String query, int epoch, Plan plan, AssignmentEvents events);

  /**
   * Adopts an earlier control plane's assignment: it continues on the host, or is reported as lost.
   */
  boolean inherit(String agent, String query, int epoch, Plan plan, AssignmentEvents events);

  /**
   * Removes a query from one host, if it is assigned there, and assigns it to another, or to the
   * same one again. Does not wait for the hosts.
   */
  void move(
      String oldHost, String newHost, String query, int epoch, Plan plan, AssignmentEvents events);

  /** Asks a query to end on a host. */
  void end(String agent, String query);

  /**
   * Ends a query on a host without waiting for confirmation; delivers no further events of this
   * assignment.
   */
  void forget(String agent, String query);

  /** Limits a query on a host to the share of its flows that the pipeline can process. */
  void limit(String agent, String query, double rate);

  /** Sets the total number of packets that a part may take (schema/monitor.proto). */
  void credit(String agent, String query, long packets, long version);

  /**
   * Replaces an assignment's packet triggers, including those in its plan (schema/monitor.proto).
   * Ignored if the epoch is not the assigned one.
   */
  void triggers(String agent, String query, int epoch, TriggerSet set);

  /** Records that switches copy all packets of an assignment (schema/monitor.proto). */
  void mirrored(String agent, String query, int epoch);
}
