package io.tapline.flink.ingest;

import io.tapline.flink.group.Answers;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * What one tuple, or two of a flow, give a processor.
 *
 * @param bits a whole number or a hash; 1 where tuples only count
 * @param present whether there is a value at all
 * @param answer of {@link Answers}
 */
record PairedValue(long bits, boolean present, byte answer) {
  /** A measured time. */
  static PairedValue of(long durationNs) {
    return new PairedValue(durationNs, true, Answers.WHOLE);
  }

  void write(DataOutput out) throws IOException {
    out.writeLong(bits);
    out.writeBoolean(present);
    out.writeByte(answer);
  }

  static PairedValue read(DataInput in) throws IOException {
    return new PairedValue(in.readLong(), in.readBoolean(), in.readByte());
  }
}
