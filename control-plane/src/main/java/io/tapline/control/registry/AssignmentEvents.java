package io.tapline.control.registry;

import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.schema.rpc.QueryAccounting;

/** Events of one query on one host. Called in order, on the registry's thread. */
public interface AssignmentEvents {
  /**
   * Called when the host has restarted, or has dropped the query: unsent data is lost. This is the
   * last event, unless the query is assigned again.
   */
  void lost(String reason);

  /**
   * Called when the host has had no lease for the time after which another host may take over. A
   * listener that does nothing keeps waiting for the host.
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

  /** Reports that, after at most 1.5 s, the monitor keeps no more than this share of the flows. */
  void limited(double rate);

  /**
   * Called when all data of the packets that the monitor captured has been sent. This is the last
   * event.
   */
  void ended(QueryAccounting accounting);

  /**
   * Called when the query can't run, or can't run to its end. This is the last event.
   *
   * @param kind the party at fault, as the monitor reports it: "user", "resources" or "internal"
   */
  void failed(String kind, String reason);

  /** Reports a user-facing warning, which does not affect the query. */
  void warning(String message);
}
