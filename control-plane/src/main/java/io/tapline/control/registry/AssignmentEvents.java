package io.tapline.control.registry;

import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.schema.rpc.QueryAccounting;

/** Events of one query on one host. Called in order, on the registry's thread. */
public interface AssignmentEvents {
  /**
   * The host has restarted or dropped the query; data that it had not sent yet is lost. The last
   * event, unless the query is assigned again.
   */
  void lost(String reason);

  /**
   * The host has had no lease for the time after which another host may take over. A listener that
   * does nothing keeps waiting for the host.
   */
  void disconnected();

  /** The host captures the query's packets from now on. May be called more than once. */
  void running();

  /** The host reports how much of its share of a LIMIT Np is used (schema/monitor.proto). */
  void credits(MonitorStatus.Credits usage);

  /**
   * The monitor uses a version of the query's triggers from now on, or refuses it
   * (schema/monitor.proto).
   */
  void triggers(MonitorStatus.Triggers response);

  /** The monitor keeps no more than this share of the flows within 1.5 s. */
  void limited(double rate);

  /** All data of the packets that the monitor has captured has been sent. The last event. */
  void ended(QueryAccounting accounting);

  /**
   * The query can't run, or can't run to its end. The last event.
   *
   * @param kind the party at fault, as the monitor reports it: "user", "resources" or "internal"
   */
  void failed(String kind, String reason);

  /** A warning for users, which has no effect. */
  void warning(String message);
}
