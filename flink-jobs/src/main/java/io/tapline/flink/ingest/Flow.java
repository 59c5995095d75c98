package io.tapline.flink.ingest;

import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/** The state of a flow while its tuples are being paired. */
final class Flow {
  static final long NONE = Long.MIN_VALUE;
  private static final int OVERHEAD_BYTES = 16;

  long startNs = NONE;
  long touchedNs;
  boolean ended;

  /** The lowest sampling rate of the flow's tuples, since the value requires all of them. */
  double rate = 1;

  /** Number of tuples of the joined parser. */
  int joined;

  /** Key fields of the first joined tuple; null before it. */
  byte[][] keyParts;

  void touch(Rows rows, int row) {
    touchedNs = Math.max(touchedNs, rows.timeNs(row));
    rate = Math.min(rate, rows.samplingRate());
  }

  long keyBytes() {
    long bytes = 0;
    for (int i = 0; keyParts != null && i < keyParts.length; i++) {
      bytes += OVERHEAD_BYTES + (keyParts[i] == null ? 0 : keyParts[i].length);
    }
    return bytes;
  }

  void write(DataOutput out) throws IOException {
    out.writeLong(startNs);
    out.writeLong(touchedNs);
    out.writeBoolean(ended);
    out.writeDouble(rate);
    out.writeInt(joined);
    writeParts(out, keyParts);
  }

  static Flow read(DataInput in) throws IOException {
    Flow flow = new Flow();
    flow.startNs = in.readLong();
    flow.touchedNs = in.readLong();
    flow.ended = in.readBoolean();
    flow.rate = in.readDouble();
    flow.joined = in.readInt();
    flow.keyParts = readParts(in);
    return flow;
  }

  /** Writes each length plus one, since 0 stands for null. */
  static void writeParts(DataOutput out, byte[][] parts) throws IOException {
    Wire.writeUnsigned(out, parts == null ? 0 : parts.length + 1);
    for (int i = 0; parts != null && i < parts.length; i++) {
      Wire.writeUnsigned(out, parts[i] == null ? 0 : parts[i].length + 1);
      if (parts[i] != null) {
        out.write(parts[i]);
      }
    }
  }

  static byte[][] readParts(DataInput in) throws IOException {
    int count = (int) Wire.readUnsigned(in) - 1;
    byte[][] parts = count < 0 ? null : new byte[count][];
    for (int i = 0; i < count; i++) {
      int length = (int) Wire.readUnsigned(in) - 1;
      if (length >= 0) {
        parts[i] = new byte[length];
        in.readFully(parts[i]);
      }
    }
    return parts;
  }
}
