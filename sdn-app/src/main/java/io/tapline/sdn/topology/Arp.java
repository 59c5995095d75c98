package io.tapline.sdn.topology;

import io.tapline.sdn.flow.FlowMatch;
import io.tapline.sdn.flow.Mac;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * An ARP packet for IPv4 over Ethernet (RFC 826).
 *
 * @param ethernetSource source of the frame, which equals the sender address of an honest host
 * @param operation {@link #REQUEST} or {@link #REPLY}
 */
public record Arp(
    long ethernetSource,
    int operation,
    long senderMac,
    int senderIp,
    long targetMac,
    int targetIp) {
  public static final int REQUEST = 1;
  public static final int REPLY = 2;
  private static final int HEADER_BYTES = 14;
  private static final int ARP_BYTES = 28;
  private static final long FIXED = 0x0001_0800_0604L;

  /** Decodes a frame; returns nothing if it is not an ARP packet for IPv4. */
  public static Optional<Arp> read(byte[] bytes) {
    if (bytes.length < HEADER_BYTES + ARP_BYTES) {
      return Optional.empty();
    }
    ByteBuffer frame = ByteBuffer.wrap(bytes);
    boolean isRight =
        (frame.getShort(12) & 0xffff) == FlowMatch.ARP && mac(frame, HEADER_BYTES) == FIXED;
    int operation = frame.getShort(20);
    if (!isRight || operation != REQUEST && operation != REPLY) {
      return Optional.empty();
    }
    return Optional.of(
        new Arp(
            mac(frame, 6),
            operation,
            mac(frame, 22),
            frame.getInt(28),
            mac(frame, 32),
            frame.getInt(38)));
  }

  private static long mac(ByteBuffer frame, int offset) {
    return (frame.getShort(offset) & 0xffffL) << 32 | frame.getInt(offset + 2) & 0xffff_ffffL;
  }

  /** Returns a request from a host. */
  public static Arp request(long senderMac, int senderIp, int targetIp) {
    return new Arp(senderMac, REQUEST, senderMac, senderIp, 0, targetIp);
  }

  /** Returns the reply to this request on behalf of its target. */
  public Arp answeredBy(long mac) {
    return new Arp(mac, REPLY, mac, targetIp, senderMac, senderIp);
  }

  /** Returns the frame: broadcast for a request, to the target for a reply. */
  public byte[] frame() {
    return frame(operation == REQUEST ? Mac.BROADCAST : targetMac);
  }

  /** Returns the frame, addressed to {@code destination}. */
  public byte[] frame(long destination) {
    ByteBuffer frame = ByteBuffer.allocate(HEADER_BYTES + ARP_BYTES);
    put(frame, destination);
    put(frame, ethernetSource);
    frame.putShort((short) FlowMatch.ARP);
    put(frame, FIXED);
    frame.putShort((short) operation);
    put(frame, senderMac);
    frame.putInt(senderIp);
    put(frame, targetMac);
    frame.putInt(targetIp);
    return frame.array();
  }

  private static void put(ByteBuffer frame, long mac) {
    frame.putShort((short) (mac >> 32)).putInt((int) mac);
  }
}
