package io.tapline.control.registry;

/** Hears of hosts' leases, in their order, on the registry's thread, which must not wait. */
public interface LeaseListener {
  /**
   * A host's agent took a lease, or took it anew.
   *
   * @param multilog HOST:PORT of the host's MultiLog node; empty: none
   */
  void up(String agent, String multilog);

  /** It holds none any more. */
  void lost(String agent);

  /** It has been gone for long, and there were too many to remember it. */
  void forgotten(String agent);

  /**
   * A monitor says how many packets have come to it.
   *
   * @param incarnation which life of the monitor
   * @param packets since it began, whoever wanted them
   * @param untilNs all that came before is among them: of this process's System.nanoTime
   */
  default void copies(String agent, long incarnation, long packets, long untilNs) {}

  /** Tells both, in this order. */
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
    };
  }

  /** Does nothing. */
  LeaseListener NOBODY =
      new LeaseListener() {
        @Override
        public void up(String agent, String multilog) {}

        @Override
        public void lost(String agent) {}

        @Override
        public void forgotten(String agent) {}
      };
}
