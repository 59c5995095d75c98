package io.tapline.sdn.flow;

import io.tapline.network.rules.RuleMatch;

/**
 * The packets that a flow matches.
 *
 * @param inPort {@link #ANY_PORT} for any
 * @param ethType 0 for any; the family's type if {@code ip} is given
 * @param ethDst {@link #ANY_MAC} for any
 * @param ip null for any
 * @param tcpFlags {@link TcpFlags#ANY} unless {@code ip} has the protocol TCP
 * @param rest fields that only other owners' flows have, as text; empty for Tapline's flows
 */
public record FlowMatch(
    int inPort, int ethType, long ethDst, RuleMatch ip, TcpFlags tcpFlags, String rest) {
  public static final int ANY_PORT = 0;
  public static final long ANY_MAC = -1;
  public static final int IPV4 = 0x0800;
  public static final int ARP = 0x0806;
  public static final int IPV6 = 0x86dd;
  public static final int LLDP = 0x88cc;
  public static final FlowMatch ALL = new FlowMatch(ANY_PORT, 0, ANY_MAC, null, TcpFlags.ANY, "");

  public static FlowMatch ofEthType(int ethType) {
    return new FlowMatch(ANY_PORT, ethType, ANY_MAC, null, TcpFlags.ANY, "");
  }

  public static FlowMatch to(long mac) {
    return new FlowMatch(ANY_PORT, 0, mac, null, TcpFlags.ANY, "");
  }

  /**
   * Returns a match for IP packets. REQUIRES: {@code ip} belongs to one family and names no ports
   * of the switch.
   */
  public static FlowMatch of(RuleMatch ip) {
    return of(ANY_PORT, ANY_MAC, ip);
  }

  /** Returns a match for IP packets that enter through a port and go to an Ethernet address. */
  public static FlowMatch of(int inPort, long ethDst, RuleMatch ip) {
    int family = Math.max(ip.from().family(), ip.to().family());
    if (family == 0) {
      throw new IllegalArgumentException("a flow match needs an address family: " + ip);
    }
    if (ip.hasPort()) {
      throw new IllegalArgumentException("a flow has port numbers, not names: " + ip);
    }
    return new FlowMatch(inPort, family == 6 ? IPV6 : IPV4, ethDst, ip, TcpFlags.ANY, "");
  }

  /**
   * Returns this match, restricted to packets with these flags. REQUIRES: this match matches only
   * TCP.
   */
  public FlowMatch with(TcpFlags flags) {
    return new FlowMatch(inPort, ethType, ethDst, ip, flags, rest);
  }

  /** Returns the match in the syntax of ovs-ofctl; empty for all packets. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    if (ip != null) {
      text.append(ip);
    } else if (ethType != 0) {
      text.append("dl_type=0x%04x".formatted(ethType));
    }
    if (inPort != ANY_PORT) {
      text.append(text.isEmpty() ? "" : ",").append("in_port=").append(inPort);
    }
    if (ethDst != ANY_MAC) {
      text.append(text.isEmpty() ? "" : ",").append("dl_dst=").append(Mac.text(ethDst));
    }
    if (!tcpFlags.equals(TcpFlags.ANY)) {
      text.append(",tcp_flags=").append(tcpFlags);
    }
    return rest.isEmpty() ? text.toString() : text + "," + rest;
  }
}
