package io.tapline.sdn.switches;

import java.util.Locale;

/** What is counted; nothing is dropped or refused without. */
public enum Counter {
  CONNECTIONS,
  /** Connections beyond what is allowed, or of a switch that is there. */
  REFUSED_CONNECTIONS,
  DUPLICATE_DATAPATHS,
  /** Switches that the inventory does not know. */
  UNKNOWN_DATAPATHS,
  /** Switches whose certificate does not name their datapath ID. */
  FOREIGN_DATAPATHS,
  /** Connections whose TLS handshake failed, or that spoke none. */
  TLS_FAILURES,
  /** No version in common. */
  VERSION_MISMATCHES,
  HANDSHAKE_TIMEOUTS,
  /** Nothing was heard, and no echo answered. */
  SILENT_SWITCHES,
  /** Did not take what was sent to it. */
  SLOW_READERS,
  MALFORMED_MESSAGES,
  /** Cut for too many malformed messages, or one whose end can't be told. */
  MALFORMED_CUTS,
  /** Replies larger than any table that we know. */
  OVERSIZED_REPLIES,
  UNEXPECTED_MESSAGES,
  DISCONNECTIONS,
  MESSAGES_IN,
  PACKET_INS,
  /** Beyond a switch's or a port's allowance. */
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
  /** Times that a switch's flows were not as they should be, and were put right. */
  REPAIRS,
  /** Switches that did not confirm in time what they were told: others no longer wait for them. */
  BARRIER_TIMEOUTS,
  /** Faults of our own: whose message or turn it was is cut off. */
  INTERNAL_ERRORS;

  /** As metrics spell it. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
