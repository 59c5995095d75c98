package io.tapline.flink.group;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Comparator;

/**
 * One flow behind a row, enough to find its packets again.
 *
 * @param source the client's address, 4 or 16 bytes; empty where the tuple does not say
 * @param startNs packet time of the first packet that counts
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

  /** Earliest end first; the rest only makes the choice the same in every run. */
  public static final Comparator<Exemplar> EARLIEST =
      Comparator.comparingLong(Exemplar::endNs)
          .thenComparingLong(Exemplar::startNs)
          .thenComparingLong(Exemplar::flowHash)
          .thenComparingLong(Exemplar::flowIncarnation)
          .thenComparing(Exemplar::monitor);

  /** The same flow seen from its start. */
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

  void write(DataOutput out) throws IOException {
    out.writeLong(flowHash);
    Wire.writeUnsigned(out, flowIncarnation);
    Wire.writeBytes(out, source);
    Wire.writeUnsigned(out, sourcePort);
    Wire.writeBytes(out, destination);
    Wire.writeUnsigned(out, destinationPort);
    out.writeLong(endNs);
    Wire.writeSigned(out, endNs - startNs);
    Wire.writeText(out, monitor);
  }

  static Exemplar read(DataInput in) throws IOException {
    long hash = in.readLong();
    long incarnation = Wire.readUnsigned(in);
    byte[] source = Wire.readBytes(in);
    int sourcePort = (int) Wire.readUnsigned(in);
    byte[] destination = Wire.readBytes(in);
    int destinationPort = (int) Wire.readUnsigned(in);
    long end = in.readLong();
    long start = end - Wire.readSigned(in);
    return new Exemplar(
        hash,
        incarnation,
        source,
        sourcePort,
        destination,
        destinationPort,
        start,
        end,
        Wire.readText(in));
  }
}
