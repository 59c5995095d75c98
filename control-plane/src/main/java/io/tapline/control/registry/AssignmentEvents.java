package io.tapline.control.registry;

import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.schema.rpc.QueryAccounting;

/** Events of one query on one host. Called in order, on the registry's thread. */
public interface AssignmentEvents {
  /**
   * Called when the agent was restarted, its monitor was lost, or it no longer has the query:
   * unsent data is lost. This is the last event, unless the query is assigned again.
   */
  void lost(String reason);

  /**
   * Called when the host has had no lease for so long that another host may take over. If the
   * listener does nothing, the query waits for the host until the grace period ends.
   */
  void disconnected();

  /**
   * Called when the host has begun to capture the query's packets. May be called more than once.
   */
  void running();

  /** Reports how much of the host's share of a LIMIT Np is used (schema/monitor.proto). */
  void credits(MonitorStatus.Credits usage);

  /**
   * Reports that the monitor uses a version of the query's triggers from now on, or refuses the
   * version (schema/monitor.proto).
   */
  void triggers(MonitorStatus.Triggers response);

  /** Reports that, within 1.5 s, the monitor will keep no more than this share of the flows. */
  void limited(double rate);

  /**
   * Called when the query has ended and the monitor has sent all its data. This is the last event.
   */
  void ended(QueryAccounting accounting);

  /**
   * Called when the query was refused or has failed. This is the last event.
   *
   * @param kind kind of cause: "user", "resources" or "internal" (schema/monitor.proto)
   */
  void failed(String kind, String reason);

  /** Reports a user-facing warning, which does not affect the query. */
  void warning(String message);
}
