package io.tapline.flink.ingest;

import io.tapline.flink.group.Answers;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * The value that a tuple, or two tuples of a flow, contribute to a processor.
 *
 * @param bits a whole number or a hash; 1 if tuples are only counted
 * @param present whether there is a value
 * @param answer one of {@link Answers}
 */
record PairedValue(long bits, boolean present, byte answer) {
  /** Returns the value of a measured duration. */
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
