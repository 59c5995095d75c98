package io.tapline.sdn.openflow;

import io.tapline.network.IpPrefix;
import io.tapline.network.rules.PortMask;
import io.tapline.network.rules.RuleMatch;
import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.flow.TcpFlags;
import java.nio.ByteBuffer;
import java.util.TreeSet;
import org.projectfloodlight.openflow.protocol.OFFactory;
import org.projectfloodlight.openflow.protocol.match.Match;
import org.projectfloodlight.openflow.protocol.match.MatchField;
import org.projectfloodlight.openflow.types.EthType;
import org.projectfloodlight.openflow.types.IPv4Address;
import org.projectfloodlight.openflow.types.IPv6Address;
import org.projectfloodlight.openflow.types.IpProtocol;
import org.projectfloodlight.openflow.types.MacAddress;
import org.projectfloodlight.openflow.types.Masked;
import org.projectfloodlight.openflow.types.OFPort;
import org.projectfloodlight.openflow.types.OFValueType;
import org.projectfloodlight.openflow.types.OFVlanVidMatch;
import org.projectfloodlight.openflow.types.TransportPort;
import org.projectfloodlight.openflow.types.U16;
import org.projectfloodlight.openflow.types.U64;

/** Encodes and decodes matches in OpenFlow. */
final class MatchCodec {
  private static final int TCP = 6;
  private static final int UDP = 17;
  private static final int ALL_BITS = 0xffff;
  private static final int ALL_FLAGS = 0xfff;

  private MatchCodec() {}

  static Match encode(OFFactory factory, FlowMatch match) {
    Match.Builder built = factory.buildMatch();
    if (match.inPort() != FlowMatch.ANY_PORT) {
      built.setExact(MatchField.IN_PORT, OFPort.of(match.inPort()));
    }
    if (match.ethDst() != FlowMatch.ANY_MAC) {
      built.setExact(MatchField.ETH_DST, MacAddress.of(match.ethDst()));
    }
    if (match.ethType() != 0) {
      built.setExact(MatchField.ETH_TYPE, EthType.of(match.ethType()));
    }
    if (match.ip() != null) {
      encode(built, match.ip());
    }
    TcpFlags flags = match.tcpFlags();
    if (!flags.equals(TcpFlags.ANY)) {
      built.setMasked(MatchField.OVS_TCP_FLAGS, U16.of(flags.value()), U16.of(flags.mask()));
    }
    return built.build();
  }

  private static void encode(Match.Builder built, RuleMatch ip) {
    if (ip.vlan() != 0) {
      built.setExact(MatchField.VLAN_VID, OFVlanVidMatch.ofVlan(ip.vlan()));
    }
    if (ip.protocol() != 0) {
      built.setExact(MatchField.IP_PROTO, IpProtocol.of((short) ip.protocol()));
    }
    boolean isV6 = Math.max(ip.from().family(), ip.to().family()) == 6;
    if (isV6) {
      ipv6(built, MatchField.IPV6_SRC, ip.from());
      ipv6(built, MatchField.IPV6_DST, ip.to());
    } else {
      ipv4(built, MatchField.IPV4_SRC, ip.from());
      ipv4(built, MatchField.IPV4_DST, ip.to());
    }
    port(built, ip.protocol() == TCP ? MatchField.TCP_SRC : MatchField.UDP_SRC, ip.fromPort());
    port(built, ip.protocol() == TCP ? MatchField.TCP_DST : MatchField.UDP_DST, ip.toPort());
    if (ip.tenant() != 0) {
      built.setExact(MatchField.TUNNEL_ID, U64.of(ip.tenant()));
    }
  }

  private static void ipv4(Match.Builder built, MatchField<IPv4Address> field, IpPrefix prefix) {
    if (prefix.length() > 0) {
      set(
          built,
          field,
          IPv4Address.of((int) (prefix.high() >>> 32)),
          IPv4Address.ofCidrMaskLength(prefix.length()));
    }
  }

  private static void ipv6(Match.Builder built, MatchField<IPv6Address> field, IpPrefix prefix) {
    if (prefix.length() > 0) {
      set(
          built,
          field,
          IPv6Address.of(prefix.high(), prefix.low()),
          IPv6Address.ofCidrMaskLength(prefix.length()));
    }
  }

  private static void port(Match.Builder built, MatchField<TransportPort> field, PortMask port) {
    if (port.mask() == ALL_BITS) {
      built.setExact(field, TransportPort.of(port.value()));
    } else if (port.mask() != 0) {
      built.setMasked(field, TransportPort.of(port.value()), TransportPort.of(port.mask()));
    }
  }

  private static <T extends OFValueType<T>> void set(
      Match.Builder built, MatchField<T> field, T value, T mask) {
    boolean exact =
        mask.equals(mask instanceof IPv4Address ? IPv4Address.NO_MASK : IPv6Address.NO_MASK);
    if (exact) {
      built.setExact(field, value);
    } else {
      built.setMasked(field, value, mask);
    }
  }

  /**
   * Decodes a match that a switch reports. Fields that Tapline's flows do not use go to {@code
   * rest}.
   */
  static FlowMatch decode(Match match) {
    DecodedFields decoded = new DecodedFields();
    TreeSet<String> rest = new TreeSet<>();
    for (MatchField<?> field : match.getMatchFields()) {
      if (!decoded.take(match, field)) {
        rest.add(text(match, field));
      }
    }
    return decoded.match(String.join(",", rest));
  }

  private static <F extends OFValueType<F>> String text(Match match, MatchField<F> field) {
    return field.getName()
        + "="
        + (match.isExact(field) ? match.get(field) : String.valueOf(match.getMasked(field)));
  }

  /** The fields decoded so far. */
  private static final class DecodedFields {
    private int inPort = FlowMatch.ANY_PORT;
    private int ethType;
    private long ethDst = FlowMatch.ANY_MAC;
    private IpPrefix from = IpPrefix.ANY;
    private IpPrefix to = IpPrefix.ANY;
    private int protocol;
    private PortMask fromPort = PortMask.ANY;
    private PortMask toPort = PortMask.ANY;
    private int vlan;
    private int tenant;
    private TcpFlags tcpFlags = TcpFlags.ANY;

    boolean take(Match match, MatchField<?> field) {
      switch (field.id) {
        case ETH_TYPE -> ethType = match.get(MatchField.ETH_TYPE).getValue();
        case IP_PROTO -> protocol = match.get(MatchField.IP_PROTO).getIpProtocolNumber();
        case IPV4_SRC -> from = ipv4(match, MatchField.IPV4_SRC);
        case IPV4_DST -> to = ipv4(match, MatchField.IPV4_DST);
        case IPV6_SRC -> from = ipv6(match, MatchField.IPV6_SRC);
        case IPV6_DST -> to = ipv6(match, MatchField.IPV6_DST);
        case TCP_SRC -> fromPort = port(match, MatchField.TCP_SRC);
        case TCP_DST -> toPort = port(match, MatchField.TCP_DST);
        case UDP_SRC -> fromPort = port(match, MatchField.UDP_SRC);
        case UDP_DST -> toPort = port(match, MatchField.UDP_DST);
        case OVS_TCP_FLAGS -> tcpFlags = flags(match);
        default -> {
          return takeExact(match, field);
        }
      }
      return true;
    }

    private boolean takeExact(Match match, MatchField<?> field) {
      if (!match.isExact(field)) {
        return false;
      }
      switch (field.id) {
        case IN_PORT -> inPort = match.get(MatchField.IN_PORT).getPortNumber();
        case ETH_DST -> ethDst = match.get(MatchField.ETH_DST).getLong();
        case VLAN_VID -> vlan = match.get(MatchField.VLAN_VID).getVlan();
        case TUNNEL_ID -> tenant = (int) match.get(MatchField.TUNNEL_ID).getValue();
        default -> {
          return false;
        }
      }
      return true;
    }

    private static IpPrefix ipv4(Match match, MatchField<IPv4Address> field) {
      if (match.isExact(field)) {
        return new IpPrefix(4, (long) match.get(field).getInt() << 32, 0, 32);
      }
      Masked<IPv4Address> masked = match.getMasked(field);
      int length = Integer.bitCount(masked.getMask().getInt());
      return new IpPrefix(4, (long) masked.getValue().getInt() << 32, 0, length);
    }

    private static IpPrefix ipv6(Match match, MatchField<IPv6Address> field) {
      boolean exact = match.isExact(field);
      IPv6Address value = exact ? match.get(field) : match.getMasked(field).getValue();
      IPv6Address mask = exact ? IPv6Address.NO_MASK : match.getMasked(field).getMask();
      ByteBuffer bytes = ByteBuffer.wrap(value.getBytes());
      ByteBuffer bits = ByteBuffer.wrap(mask.getBytes());
      int length = Long.bitCount(bits.getLong()) + Long.bitCount(bits.getLong());
      return new IpPrefix(6, bytes.getLong(), bytes.getLong(), length);
    }

    private static PortMask port(Match match, MatchField<TransportPort> field) {
      if (match.isExact(field)) {
        return PortMask.of(match.get(field).getPort());
      }
      Masked<TransportPort> masked = match.getMasked(field);
      return new PortMask(masked.getValue().getPort(), masked.getMask().getPort());
    }

    private static TcpFlags flags(Match match) {
      if (match.isExact(MatchField.OVS_TCP_FLAGS)) {
        return new TcpFlags(match.get(MatchField.OVS_TCP_FLAGS).getValue(), ALL_FLAGS);
      }
      Masked<U16> masked = match.getMasked(MatchField.OVS_TCP_FLAGS);
      return new TcpFlags(masked.getValue().getValue(), masked.getMask().getValue());
    }

    FlowMatch match(String rest) {
      boolean ip = ethType == FlowMatch.IPV4 || ethType == FlowMatch.IPV6;
      if (!ip) {
        String furtherText =
            vlan == 0 && tenant == 0 ? rest : rest + ",vlan=" + vlan + ",tun=" + tenant;
        return new FlowMatch(inPort, ethType, ethDst, null, tcpFlags, furtherText);
      }
      int family = ethType == FlowMatch.IPV6 ? 6 : 4;
      RuleMatch rule =
          new RuleMatch(
              family(from, family), family(to, family), protocol, fromPort, toPort, vlan, tenant);
      return new FlowMatch(inPort, ethType, ethDst, rule, tcpFlags, rest);
    }

    private static IpPrefix family(IpPrefix prefix, int family) {
      return prefix.family() == 0 ? IpPrefix.all(family) : prefix;
    }
  }
}
