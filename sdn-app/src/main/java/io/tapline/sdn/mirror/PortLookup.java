package io.tapline.sdn.mirror;

import java.util.OptionalInt;
import java.util.SortedSet;
import java.util.TreeSet;

/** A controller's knowledge of a switch's ports, for rules that name ports. */
public interface PortLookup {
  /** Knows no port. */
  PortLookup UNKNOWN =
      new PortLookup() {
        @Override
        public OptionalInt number(String port) {
          return OptionalInt.empty();
        }

        @Override
        public SortedSet<Long> leaving(int port) {
          return new TreeSet<>();
        }

        @Override
        public SortedSet<Long> entering(int port) {
          return new TreeSet<>();
        }
      };

  /**
   * Returns the number of a port, which is named by its number or by the switch at the other end of
   * its link. Empty unless there is exactly one such port.
   */
  OptionalInt number(String port);

  /**
   * Returns the Ethernet addresses of the hosts to which forwarding sends packets through this
   * port.
   */
  SortedSet<Long> leaving(int port);

  /**
   * Returns the destination Ethernet addresses of packets that enter through this port: those of
   * the hosts to which the switch at the other end of the link forwards over this link. If a host
   * is at the other end, returns those of all hosts.
   */
  SortedSet<Long> entering(int port);
}
