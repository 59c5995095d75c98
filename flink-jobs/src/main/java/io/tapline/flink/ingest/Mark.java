package io.tapline.flink.ingest;

import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * A monitor's progress, which the subtask that reads its batches reports to the buckets.
 *
 * @param monitor index of the monitor
 * @param ns earliest possible time of the monitor's later tuples; {@link Long#MIN_VALUE} while
 *     unknown
 * @param silent whether the monitor is silent, so windows do not wait for it
 * @param unwatched all known spans that the monitor did not watch
 */
public record Mark(int monitor, long ns, boolean ended, boolean silent, Unwatched unwatched) {
  private static final int ENDED = 1;
  private static final int SILENT = 2;

  void write(DataOutput out) throws IOException {
    Wire.writeUnsigned(out, monitor);
    out.writeLong(ns);
    out.writeByte((ended ? ENDED : 0) | (silent ? SILENT : 0));
    unwatched.write(out);
  }

  /** Reads one of the marks in a record of a flush. */
  public static Mark read(DataInput in) throws IOException {
    int monitor = (int) Wire.readUnsigned(in);
    long ns = in.readLong();
    int flags = in.readByte();
    return new Mark(monitor, ns, (flags & ENDED) != 0, (flags & SILENT) != 0, Unwatched.read(in));
  }
}
