package io.tapline.control.registry;

import io.tapline.schema.rpc.EventBatch;
import java.util.function.LongConsumer;

/**
 * Receives reports about hosts' leases. All methods except {@link #events} are called in order, on
 * the registry's thread, which they must not block.
 */
public interface LeaseListener {
  /**
   * Called when a host's agent has taken a lease, for the first time or again.
   *
   * @param multilog HOST:PORT of the host's MultiLog node; empty if it has none
   */
  void up(String agent, String multilog);

  /** Called when the agent no longer has a lease and counts as disconnected. */
  void lost(String agent);

  /**
   * Called when the registry has reached its maximum number of agents and has evicted this one,
   * which disconnected longest ago.
   */
  void forgotten(String agent);

  /**
   * Reports how many packets have reached a monitor.
   *
   * @param incarnation incarnation of the monitor
   * @param packets number of packets, for any query, since the monitor started
   * @param untilNs time up to which arrivals are counted, as System.nanoTime of this process
   */
  default void copies(String agent, long incarnation, long packets, long untilNs) {}

  /**
   * Delivers events that a monitor reported for a query. Called on any thread.
   *
   * @param taken to be called, on any thread, once events are stored, with the number of the first
   *     event that is not; if this control plane is replaced, the agent sends that event and all
   *     later ones again
   * @return true if the listener takes the events; if no listener does, the agent may drop them
   */
  default boolean events(String agent, EventBatch batch, LongConsumer taken) {
    return false;
  }

  /** Returns a listener that notifies both, in this order. */
  static LeaseListener both(LeaseListener first, LeaseListener second) {
    return new LeaseListener() {
      @Override
      public void up(String agent, String multilog) {
        first.up(agent, multilog);
        second.up(agent, multilog);
      }

      @Override
      public void lost(String agent) {
        first.lost(agent);
        second.lost(agent);
      }

      @Override
      public void forgotten(String agent) {
        first.forgotten(agent);
        second.forgotten(agent);
      }

      @Override
      public void copies(String agent, long incarnation, long packets, long untilNs) {
        first.copies(agent, incarnation, packets, untilNs);
        second.copies(agent, incarnation, packets, untilNs);
      }

      @Override
      public boolean events(String agent, EventBatch batch, LongConsumer taken) {
        return first.events(agent, batch, taken) || second.events(agent, batch, taken);
      }
    };
  }

  /** A listener that does nothing. */
  LeaseListener NONE =
      new LeaseListener() {
        @Override
        public void up(String agent, String multilog) {}

        @Override
        public void lost(String agent) {}

        @Override
        public void forgotten(String agent) {}
      };
}
