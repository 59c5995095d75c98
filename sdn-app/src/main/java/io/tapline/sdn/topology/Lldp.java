package io.tapline.sdn.topology;

import io.tapline.sdn.flow.FlowMatch;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * LLDP frames (IEEE 802.1AB) with an authenticated port and departure time, which hosts can't
 * forge. Not thread-safe.
 *
 * <pre>
 * chassis ID   local, the datapath as 16 hex digits
 * port ID      local, the port in decimal
 * TTL          seconds
 * specific     OUI 7a9100, subtype 1, 8 bytes time sent in ns, 16 bytes HMAC-SHA256 of the numbers
 * end
 * </pre>
 */
public final class Lldp {
  private static final long DESTINATION = 0x0180_c200_000eL;
  private static final long SOURCE = 0x0e7a_9100_0001L;
  private static final byte[] OUI_AND_SUBTYPE = {0x7a, (byte) 0x91, 0x00, 0x01};
  private static final int PROOF_BYTES = 16;
  private static final int HEADER_BYTES = 14;
  private static final int LOCAL = 7;
  private static final int TTL_SECONDS = 10;

  /** Origin of a frame. */
  public enum Kind {
    OURS,
    /** Sent by another device; others use LLDP, too. */
    FOREIGN,
    /** Claims to be ours without a valid authentication code. */
    FORGED
  }

  /**
   * Contents of a received frame.
   *
   * @param from the port that the frame left, if it is ours
   */
  public record Announcement(Kind kind, SwitchPort from, long sentNs) {
    private static final Announcement FOREIGN = new Announcement(Kind.FOREIGN, null, 0);
    private static final Announcement FORGED = new Announcement(Kind.FORGED, null, 0);
  }

  private final Mac mac;

  /** Creates a codec that signs its frames with a secret key. */
  public Lldp(byte[] key) {
    try {
      mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns the frame to send out of a port. */
  public byte[] frame(SwitchPort port, long nowNs) {
    ByteBuffer frame = ByteBuffer.allocate(128);
    putMac(frame, DESTINATION);
    putMac(frame, SOURCE);
    frame.putShort((short) FlowMatch.LLDP);
    putId(frame, 1, "%016x".formatted(port.datapath()));
    putId(frame, 2, String.valueOf(port.port()));
    putHeader(frame, 3, 2);
    frame.putShort((short) TTL_SECONDS);
    putHeader(frame, 127, OUI_AND_SUBTYPE.length + Long.BYTES + PROOF_BYTES);
    frame.put(OUI_AND_SUBTYPE).putLong(nowNs).put(proof(port, nowNs));
    putHeader(frame, 0, 0);
    return Arrays.copyOf(frame.array(), frame.position());
  }

  private static void putMac(ByteBuffer frame, long address) {
    frame.putShort((short) (address >> 32)).putInt((int) address);
  }

  private static void putId(ByteBuffer frame, int type, String id) {
    byte[] text = id.getBytes(StandardCharsets.US_ASCII);
    putHeader(frame, type, 1 + text.length);
    frame.put((byte) LOCAL).put(text);
  }

  private static void putHeader(ByteBuffer frame, int type, int length) {
    frame.putShort((short) (type << 9 | length));
  }

  private byte[] proof(SwitchPort port, long sentNs) {
    ByteBuffer numbers = ByteBuffer.allocate(2 * Long.BYTES + Integer.BYTES);
    numbers.putLong(port.datapath()).putInt(port.port()).putLong(sentNs);
    return Arrays.copyOf(mac.doFinal(numbers.array()), PROOF_BYTES);
  }

  /** Decodes a frame; never throws, regardless of its contents. */
  public Announcement read(byte[] bytes) {
    ByteBuffer frame = ByteBuffer.wrap(bytes);
    if (bytes.length < HEADER_BYTES || (frame.getShort(12) & 0xffff) != FlowMatch.LLDP) {
      return Announcement.FOREIGN;
    }
    frame.position(HEADER_BYTES);
    String chassis = "";
    String port = "";
    while (frame.remaining() >= 2) {
      int header = frame.getShort() & 0xffff;
      int type = header >> 9;
      int length = header & 0x1ff;
      if (type == 0 || length > frame.remaining()) {
        break;
      }
      ByteBuffer value = frame.slice(frame.position(), length);
      frame.position(frame.position() + length);
      if (type == 1) {
        chassis = text(value);
      } else if (type == 2) {
        port = text(value);
      } else if (type == 127 && isOurs(value)) {
        return check(chassis, port, value);
      }
    }
    return Announcement.FOREIGN;
  }

  private static String text(ByteBuffer value) {
    byte[] text = new byte[Math.max(0, value.remaining() - 1)];
    value.position(Math.min(1, value.remaining())).get(text);
    return new String(text, StandardCharsets.US_ASCII);
  }

  private static boolean isOurs(ByteBuffer value) {
    byte[] start = new byte[OUI_AND_SUBTYPE.length];
    if (value.remaining() < start.length) {
      return false;
    }
    value.get(start);
    return Arrays.equals(start, OUI_AND_SUBTYPE);
  }

  private Announcement check(String chassis, String port, ByteBuffer value) {
    boolean isRight =
        value.remaining() == Long.BYTES + PROOF_BYTES
            && chassis.matches("[0-9a-f]{16}")
            && port.matches("[0-9]{1,9}");
    if (!isRight) {
      return Announcement.FORGED;
    }
    SwitchPort source = new SwitchPort(Long.parseUnsignedLong(chassis, 16), Integer.parseInt(port));
    long sentNs = value.getLong();
    byte[] proof = new byte[PROOF_BYTES];
    value.get(proof);
    return MessageDigest.isEqual(proof, proof(source, sentNs))
        ? new Announcement(Kind.OURS, source, sentNs)
        : Announcement.FORGED;
  }
}
