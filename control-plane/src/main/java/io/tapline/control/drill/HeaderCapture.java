package io.tapline.control.drill;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A capture of TCP headers for benchmarks: packets of interleaved flows, each flow with a distinct
 * pair of source address and port and with {@link #PACKETS_PER_FLOW} packets spread over the whole
 * capture.
 */
final class HeaderCapture {
  static final int PACKETS_PER_FLOW = 16;
  private static final int FRAME_BYTES = 64;
  private static final int RECORD_BYTES = 16 + FRAME_BYTES;
  private static final int BEGIN_SECONDS = 1_700_000_000;
  private static final int MICROS_BETWEEN_PACKETS = 100;

  private HeaderCapture() {}

  /** Writes this number of packets, which must be a multiple of {@link #PACKETS_PER_FLOW}. */
  static void write(Path path, int packets) throws IOException {
    try (DataOutputStream out =
        new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(path)))) {
      ByteBuffer head = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
      head.putInt(0xa1b2c3d4).putShort((short) 2).putShort((short) 4).putLong(0);
      head.putInt(65_535).putInt(1);
      out.write(head.array());
      int flows = packets / PACKETS_PER_FLOW;
      for (int i = 0; i < packets; i++) {
        out.write(packet(i, i % flows));
      }
    }
  }

  private static byte[] packet(int number, int flow) {
    long micros = (long) number * MICROS_BETWEEN_PACKETS;
    ByteBuffer record = ByteBuffer.allocate(RECORD_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    record.putInt(BEGIN_SECONDS + (int) (micros / 1_000_000)).putInt((int) (micros % 1_000_000));
    record.putInt(FRAME_BYTES).putInt(FRAME_BYTES).order(ByteOrder.BIG_ENDIAN);
    record.position(record.position() + 12);
    record.putShort((short) 0x0800).put((byte) 0x45).put((byte) 0);
    record.putShort((short) (FRAME_BYTES - 14)).putShort((short) number).putShort((short) 0);
    record
        .put((byte) 64)
        .put((byte) 6)
        .putShort((short) 0)
        .putInt(address(flow))
        .putInt(0x0a800001);
    record.putShort((short) port(flow)).putShort((short) 80).putInt(number).putInt(0);
    record.put((byte) 0x50).put((byte) 0x10);
    return record.array();
  }

  private static int address(int flow) {
    return 0x0a000001 + flow / 256;
  }

  private static int port(int flow) {
    return 1024 + flow % 256;
  }

  /** Returns the filter that selects the packets of one flow. */
  static String filterOf(int flow) {
    int address = address(flow);
    return "src_ip == %d.%d.%d.%d && src_port == %d"
        .formatted(
            address >>> 24, address >> 16 & 255, address >> 8 & 255, address & 255, port(flow));
  }
}
