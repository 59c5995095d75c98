package io.tapline.sdn.switches;

import java.util.Locale;

/** The controller's counters. Everything that is dropped or rejected has a counter. */
public enum Counter {
  CONNECTIONS,
  /** Connections beyond the limit, or from a switch that is unknown or already connected. */
  REFUSED_CONNECTIONS,
  DUPLICATE_DATAPATHS,
  /** Switches that the inventory does not name. */
  UNKNOWN_DATAPATHS,
  /** Switches whose certificate does not name their datapath ID. */
  FOREIGN_DATAPATHS,
  /** Connections whose TLS handshake failed, or that did not use TLS. */
  TLS_FAILURES,
  /** Switches without a common OpenFlow version. */
  VERSION_MISMATCHES,
  HANDSHAKE_TIMEOUTS,
  /** Switches that were silent and did not answer an echo request. */
  SILENT_SWITCHES,
  /** Switches that read messages too slowly. */
  SLOW_READERS,
  MALFORMED_MESSAGES,
  /**
   * Connections closed for too many malformed messages, or for one message whose end can't be
   * determined.
   */
  MALFORMED_CUTS,
  /** Replies with too many flows or ports. */
  OVERSIZED_REPLIES,
  UNEXPECTED_MESSAGES,
  DISCONNECTIONS,
  MESSAGES_IN,
  PACKET_INS,
  /** Packet-ins beyond the rate limit of a switch or a port. */
  PACKET_INS_DROPPED,
  PACKET_INS_IGNORED,
  LLDP_FORGED,
  LLDP_STALE,
  LLDP_CONFLICTS,
  ARP_SPOOFED,
  ARP_MALFORMED,
  ARP_ANSWERED,
  ARP_FLOODED,
  ARP_FLOODS_DROPPED,
  HOSTS_REFUSED,
  FLOW_MODS,
  /** Errors that switches sent. */
  SWITCH_ERRORS,
  /** Number of times that a switch's flows were wrong and were repaired. */
  REPAIRS,
  /**
   * Switches that did not confirm their messages in time; other switches no longer wait for them.
   */
  BARRIER_TIMEOUTS,
  /** Route changes that monitors did not confirm in time; switches made them regardless. */
  ROUTES_UNCONFIRMED,
  /** Internal errors; one in a connection's message or periodic work closes the connection. */
  INTERNAL_ERRORS;

  /** Returns the name in metrics. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
