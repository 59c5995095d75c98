package io.tapline.flink.group;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * One flow behind a row, with enough information to find its packets.
 *
 * @param source client's address, 4 or 16 bytes; empty if the tuple has none
 * @param startNs packet time of the first relevant packet; like {@code endNs}, must not be before
 *     1970
 * @param endNs packet time at which the tuple became certain
 */
public record Exemplar(
    long flowHash,
    long flowIncarnation,
    byte[] source,
    int sourcePort,
    byte[] destination,
    int destinationPort,
    long startNs,
    long endNs,
    String monitor) {

  private static final int FIXED_BYTES = 4 * Long.BYTES + 2 * Integer.BYTES + 2;

  /**
   * Encodes the flow as bytes that sort by end time; the other fields only make the order
   * deterministic.
   *
   * <pre>
   *   end, start, hash, incarnation: 8 bytes each, big-endian | ports: 4 each | source, destination: length, bytes | monitor
   * </pre>
   */
  byte[] toBytes() {
    byte[] name = monitor.getBytes(StandardCharsets.UTF_8);
    byte[] bytes = new byte[FIXED_BYTES + source.length + destination.length + name.length];
    ByteBuffer.wrap(bytes)
        .putLong(endNs)
        .putLong(startNs)
        .putLong(flowHash)
        .putLong(flowIncarnation)
        .putInt(sourcePort)
        .putInt(destinationPort)
        .put((byte) source.length)
        .put(source)
        .put((byte) destination.length)
        .put(destination)
        .put(name);
    return bytes;
  }

  static Exemplar of(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    long end = in.getLong();
    long start = in.getLong();
    long hash = in.getLong();
    long incarnation = in.getLong();
    int sourcePort = in.getInt();
    int destinationPort = in.getInt();
    byte[] source = Key.take(in, in.get());
    byte[] destination = Key.take(in, in.get());
    String monitor = new String(Key.take(in, in.remaining()), StandardCharsets.UTF_8);
    return new Exemplar(
        hash, incarnation, source, sourcePort, destination, destinationPort, start, end, monitor);
  }

  /** Returns the end time of an encoded flow. */
  static long endNs(byte[] bytes) {
    return (long) LONG.get(bytes, 0);
  }

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  /** Returns the same flow with a different start time. */
  public Exemplar startingAt(long start) {
    return new Exemplar(
        flowHash,
        flowIncarnation,
        source,
        sourcePort,
        destination,
        destinationPort,
        start,
        endNs,
        monitor);
  }
}
