package io.tapline.sdn.openflow;

import io.tapline.sdn.switches.PortCounters;
import io.tapline.sdn.switches.PortState;
import java.util.List;
import org.projectfloodlight.openflow.protocol.OFErrorMsg;
import org.projectfloodlight.openflow.protocol.OFPortConfig;
import org.projectfloodlight.openflow.protocol.OFPortDesc;
import org.projectfloodlight.openflow.protocol.OFPortDescPropEthernet;
import org.projectfloodlight.openflow.protocol.OFPortDescStatsReply;
import org.projectfloodlight.openflow.protocol.OFPortState;
import org.projectfloodlight.openflow.protocol.OFPortStatsReply;
import org.projectfloodlight.openflow.protocol.OFVersion;

/** Decodes the switches' messages about ports and errors. */
final class PortMessages {
  private static final int MAX_ERROR_CHARACTERS = 300;
  private static final long BITS_PER_KBIT = 1000;

  /** Lowest reserved port number; reserved numbers have no physical port. */
  private static final int RESERVED = 0xffff_ff00;

  private PortMessages() {}

  static List<PortState> states(OFPortDescStatsReply reply) {
    return reply.getEntries().stream()
        .filter(port -> isWire(port.getPortNo().getPortNumber()))
        .map(port -> state(port, false))
        .toList();
  }

  private static boolean isWire(int port) {
    return port != 0 && Integer.compareUnsigned(port, RESERVED) < 0;
  }

  static PortState state(OFPortDesc port, boolean isGone) {
    boolean isUp =
        !isGone
            && isWire(port.getPortNo().getPortNumber())
            && !port.getState().contains(OFPortState.LINK_DOWN)
            && !port.getConfig().contains(OFPortConfig.PORT_DOWN);
    return new PortState(port.getPortNo().getPortNumber(), port.getName(), isUp, speed(port));
  }

  /** Returns the current speed in bits per second; 0 if unknown. OpenFlow reports it in kb/s. */
  private static long speed(OFPortDesc port) {
    if (port.getVersion() == OFVersion.OF_13) {
      return port.getCurrSpeed() * BITS_PER_KBIT;
    }
    return port.getProperties().stream()
        .filter(OFPortDescPropEthernet.class::isInstance)
        .mapToLong(property -> ((OFPortDescPropEthernet) property).getCurrSpeed() * BITS_PER_KBIT)
        .findFirst()
        .orElse(0);
  }

  static List<PortCounters> counters(OFPortStatsReply reply) {
    return reply.getEntries().stream()
        .map(
            port ->
                new PortCounters(
                    port.getPortNo().getPortNumber(),
                    port.getRxPackets().getValue(),
                    port.getTxPackets().getValue(),
                    port.getRxBytes().getValue(),
                    port.getTxBytes().getValue(),
                    port.getRxDropped().getValue(),
                    port.getTxDropped().getValue()))
        .toList();
  }

  static String text(OFErrorMsg error) {
    String text = error.toString();
    return text.length() > MAX_ERROR_CHARACTERS
        ? text.substring(0, MAX_ERROR_CHARACTERS) + "…"
        : text;
  }
}
