package io.tapline.control.registry;

/** Queries on hosts, by their agents. Any thread may call. */
public interface Assignments {
  /**
   * Assigns a query to a host, which need not be up: it has the grace period to come.
   *
   * @param plan as JSON, that agent's monitor alone in it
   * @return false if the host was assigned that query already
   */
  boolean assign(String agent, String query, int epoch, String plan, AssignmentEvents events);

  /** Assigns what an earlier control plane had: the host resumes it, if it has it still. */
  boolean inherit(String agent, String query, int epoch, String plan, AssignmentEvents events);

  /**
   * Takes a query from one host, if it has it, and assigns it to another, or to the same one anew;
   * returns at once.
   */
  void move(String from, String to, String query, int epoch, String plan, AssignmentEvents events);

  /** Asks a query to end on a host. */
  void end(String agent, String query);

  /** Ends a query on a host without waiting for its word: no more of its events come. */
  void forget(String agent, String query);

  /** Says which share of a query's flows the pipeline can take. */
  void limit(String agent, String query, double rate);

  /** Says how many packets a part may take in all (schema/agent.proto). */
  void credit(String agent, String query, long packets, long version);

  /** Says that switches copy all packets of an assignment (schema/agent.proto). */
  void mirrored(String agent, String query, int epoch);
}
