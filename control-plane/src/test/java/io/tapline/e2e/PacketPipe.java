package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** A growing capture file: a named pipe through which packets arrive when the test sends them. */
final class PacketPipe implements AutoCloseable {
  private static final int FRAME_BYTES = 60;
  private static final long BEGIN_S = 1_795_204_800;

  private final Path path;
  private OutputStream out;
  private long packets;

  PacketPipe(Path path) throws Exception {
    this.path = path;
    assertThat(new ProcessBuilder("mkfifo", path.toString()).start().waitFor()).isZero();
  }

  Path path() {
    return path;
  }

  /** Writes this many UDP packets. The first call blocks until there is a reader. */
  void feed(int count) throws IOException {
    if (out == null) {
      out = Files.newOutputStream(path);
      out.write(fileHeader());
    }
    for (int i = 0; i < count; i++) {
      out.write(packet(packets++));
    }
    out.flush();
  }

  private static byte[] fileHeader() {
    ByteBuffer header = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
    header.putInt(0xa1b2c3d4).putShort((short) 2).putShort((short) 4).putLong(0);
    return header.putInt(65_535).putInt(1).array();
  }

  /** Returns a packet from 10.0.0.1 to 10.0.0.2; packets are one microsecond apart. */
  private static byte[] packet(long number) {
    ByteBuffer record = ByteBuffer.allocate(16 + FRAME_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    record.putInt((int) (BEGIN_S + number / 1_000_000)).putInt((int) (number % 1_000_000));
    record.putInt(FRAME_BYTES).putInt(FRAME_BYTES);
    record.order(ByteOrder.BIG_ENDIAN).position(16 + 12);
    record.putShort((short) 0x0800);
    record.putInt(0x4500_0000 | FRAME_BYTES - 14).putInt(0).putInt(0x4011_0000);
    record.putInt(0x0a00_0001).putInt(0x0a00_0002);
    record.putShort((short) 4000).putShort((short) 5000).putShort((short) (FRAME_BYTES - 34));
    return record.array();
  }

  @Override
  public void close() throws IOException {
    if (out != null) {
      out.close();
    }
  }
}
