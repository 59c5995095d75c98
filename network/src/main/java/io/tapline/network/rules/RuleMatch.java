package io.tapline.network.rules;

import io.tapline.network.IpPrefix;

/**
 * The packets that a mirror rule matches.
 *
 * @param protocol IP protocol; 0 for any. A match with ports must have a protocol.
 * @param vlan VLAN ID; 0 for any
 * @param tenant tunnel ID; 0 for any
 * @param in the port through which packets enter the switch: its number, or the neighbour at the
 *     other end of its link; empty for any
 * @param out the port to which forwarding sends packets, named in the same way; empty for any
 */
public record RuleMatch(
    IpPrefix from,
    IpPrefix to,
    int protocol,
    PortMask fromPort,
    PortMask toPort,
    int vlan,
    int tenant,
    String in,
    String out) {
  public static final RuleMatch ANY =
      new RuleMatch(IpPrefix.ANY, IpPrefix.ANY, 0, PortMask.ANY, PortMask.ANY, 0, 0);
  private static final int PROTOCOL_BITS = 8;
  private static final int VLAN_BITS = 12;
  private static final int TENANT_BITS = 24;

  /**
   * Number of bits that a given switch port counts as: an input port has a 32-bit number, and an
   * output port stands for a 48-bit destination address.
   */
  private static final int IN_BITS = 32;

  private static final int OUT_BITS = 48;

  /** Gives both addresses the same family if one of them has a family. */
  public RuleMatch {
    int family = Math.max(from.family(), to.family());
    from = from.family() == family ? from : IpPrefix.all(family);
    to = to.family() == family ? to : IpPrefix.all(family);
  }

  /** Creates a match that does not depend on the switch's ports. */
  public RuleMatch(
      IpPrefix source,
      IpPrefix destination,
      int protocol,
      PortMask fromPort,
      PortMask toPort,
      int vlan,
      int tenant) {
    this(source, destination, protocol, fromPort, toPort, vlan, tenant, "", "");
  }

  /** Returns the match for all packets that enter a switch through a port. */
  public static RuleMatch entering(String port) {
    return ANY.through(port, "");
  }

  /** Returns the match for all packets that forwarding sends out of a port. */
  public static RuleMatch leaving(String port) {
    return ANY.through("", port);
  }

  /** Returns this match for other ports of the switch; empty for any. */
  public RuleMatch through(String newIn, String newOut) {
    return new RuleMatch(from, to, protocol, fromPort, toPort, vlan, tenant, newIn, newOut);
  }

  /** Returns true if the match depends on the switch's ports. */
  public boolean hasPort() {
    return !in.isEmpty() || !out.isEmpty();
  }

  /**
   * The part of a packet's header that rules examine, and the switch ports that the packet
   * traverses.
   */
  public record Header(
      IpPrefix from,
      IpPrefix to,
      int protocol,
      int fromPort,
      int toPort,
      int vlan,
      int tenant,
      String in,
      String out) {
    /** Creates the header of a packet whose switch ports are unknown. */
    public Header(
        IpPrefix source,
        IpPrefix destination,
        int protocol,
        int fromPort,
        int toPort,
        int vlan,
        int tenant) {
      this(source, destination, protocol, fromPort, toPort, vlan, tenant, "", "");
    }
  }

  /** Returns the match for the other direction. REQUIRES: {@link #hasPort} is false. */
  public RuleMatch reversed() {
    return new RuleMatch(to, from, protocol, toPort, fromPort, vlan, tenant);
  }

  public boolean matches(Header header) {
    return from.covers(header.from())
        && to.covers(header.to())
        && (protocol == 0 || protocol == header.protocol())
        && fromPort.covers(header.fromPort())
        && toPort.covers(header.toPort())
        && (vlan == 0 || vlan == header.vlan())
        && (tenant == 0 || tenant == header.tenant())
        && covers(in, header.in())
        && covers(out, header.out());
  }

  private static boolean covers(int mine, int other) {
    return mine == 0 || mine == other;
  }

  private static boolean overlaps(int mine, int other) {
    return mine == 0 || other == 0 || mine == other;
  }

  private static boolean covers(String mine, String other) {
    return mine.isEmpty() || mine.equals(other);
  }

  private static boolean overlaps(String mine, String other) {
    return mine.isEmpty() || other.isEmpty() || mine.equals(other);
  }

  boolean covers(RuleMatch otherMatch) {
    return from.covers(otherMatch.from)
        && to.covers(otherMatch.to)
        && covers(protocol, otherMatch.protocol)
        && fromPort.covers(otherMatch.fromPort)
        && toPort.covers(otherMatch.toPort)
        && covers(vlan, otherMatch.vlan)
        && covers(tenant, otherMatch.tenant)
        && covers(in, otherMatch.in)
        && covers(out, otherMatch.out);
  }

  boolean overlaps(RuleMatch otherMatch) {
    return from.overlaps(otherMatch.from)
        && to.overlaps(otherMatch.to)
        && overlaps(protocol, otherMatch.protocol)
        && fromPort.overlaps(otherMatch.fromPort)
        && toPort.overlaps(otherMatch.toPort)
        && overlaps(vlan, otherMatch.vlan)
        && overlaps(tenant, otherMatch.tenant)
        && overlaps(in, otherMatch.in)
        && overlaps(out, otherMatch.out);
  }

  /** Returns 4 or 6, or 0 if the match includes both families. */
  int family() {
    return Math.max(from.family(), to.family());
  }

  /** Returns the intersection. REQUIRES: the two overlap. */
  RuleMatch and(RuleMatch otherMatch) {
    return new RuleMatch(
        from.and(otherMatch.from),
        to.and(otherMatch.to),
        Math.max(protocol, otherMatch.protocol),
        fromPort.and(otherMatch.fromPort),
        toPort.and(otherMatch.toPort),
        Math.max(vlan, otherMatch.vlan),
        Math.max(tenant, otherMatch.tenant),
        in.isEmpty() ? otherMatch.in : in,
        out.isEmpty() ? otherMatch.out : out);
  }

  /** Returns the union of these two as one match, if there is one; else null. */
  RuleMatch joined(RuleMatch otherMatch) {
    boolean isSame =
        protocol == otherMatch.protocol && vlan == otherMatch.vlan && tenant == otherMatch.tenant;
    if (!isSame
        || !in.equals(otherMatch.in)
        || !out.equals(otherMatch.out)
        || family() != otherMatch.family()) {
      return null;
    }
    boolean hasPorts = fromPort.equals(otherMatch.fromPort) && toPort.equals(otherMatch.toPort);
    if (hasPorts && from.equals(otherMatch.from)) {
      IpPrefix wholePrefix = to.joined(otherMatch.to);
      return wholePrefix == null ? null : with(from, wholePrefix, fromPort, toPort);
    } else if (hasPorts && to.equals(otherMatch.to)) {
      IpPrefix wholePrefix = from.joined(otherMatch.from);
      return wholePrefix == null ? null : with(wholePrefix, to, fromPort, toPort);
    } else if (!from.equals(otherMatch.from) || !to.equals(otherMatch.to)) {
      return null;
    } else if (fromPort.equals(otherMatch.fromPort)) {
      PortMask wholeMask = toPort.joined(otherMatch.toPort);
      return wholeMask == null || wholeMask.mask() == 0
          ? null
          : with(from, to, fromPort, wholeMask);
    } else if (toPort.equals(otherMatch.toPort)) {
      PortMask wholeMask = fromPort.joined(otherMatch.fromPort);
      return wholeMask == null || wholeMask.mask() == 0 ? null : with(from, to, wholeMask, toPort);
    }
    return null;
  }

  private RuleMatch with(
      IpPrefix newFrom, IpPrefix newTo, PortMask newFromPort, PortMask newToPort) {
    return new RuleMatch(newFrom, newTo, protocol, newFromPort, newToPort, vlan, tenant, in, out);
  }

  /** Returns the number of fixed bits. A match has more of them than any match that contains it. */
  public int bits() {
    return from.length()
        + to.length()
        + (family() == 0 ? 0 : 1)
        + (protocol == 0 ? 0 : PROTOCOL_BITS)
        + fromPort.bits()
        + toPort.bits()
        + (vlan == 0 ? 0 : VLAN_BITS)
        + (tenant == 0 ? 0 : TENANT_BITS)
        + (in.isEmpty() ? 0 : IN_BITS)
        + (out.isEmpty() ? 0 : OUT_BITS);
  }

  /** Returns the match as ovs-ofctl writes it, with port names. */
  @Override
  public String toString() {
    boolean isV6 = family() == 6;
    StringBuilder text = new StringBuilder(kind(isV6));
    append(text, isV6 ? "ipv6_src" : "nw_src", from.length() == 0 ? "" : from.toString());
    append(text, isV6 ? "ipv6_dst" : "nw_dst", to.length() == 0 ? "" : to.toString());
    append(text, "tp_src", fromPort.mask() == 0 ? "" : fromPort.toString());
    append(text, "tp_dst", toPort.mask() == 0 ? "" : toPort.toString());
    append(text, "dl_vlan", vlan == 0 ? "" : String.valueOf(vlan));
    append(text, "tun_id", tenant == 0 ? "" : String.valueOf(tenant));
    append(text, "in_port", in);
    append(text, "out_port", out);
    return text.toString();
  }

  private String kind(boolean isV6) {
    return switch (protocol) {
      case 6 -> isV6 ? "tcp6" : "tcp";
      case 17 -> isV6 ? "udp6" : "udp";
      case 0 -> isV6 ? "ipv6" : "ip";
      default -> (isV6 ? "ipv6" : "ip") + ",nw_proto=" + protocol;
    };
  }

  private static void append(StringBuilder text, String field, String value) {
    if (!value.isEmpty()) {
      text.append(',').append(field).append('=').append(value);
    }
  }
}
