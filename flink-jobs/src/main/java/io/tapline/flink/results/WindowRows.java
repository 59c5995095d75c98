package io.tapline.flink.results;

import io.tapline.flink.group.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The rows of one window, of one bucket or of all.
 *
 * @param startNs first nanosecond of the window
 * @param endNs first nanosecond after it
 * @param partial whether the stream ended before the window did, or the window goes on
 * @param omitted rows that the bound on their number left out
 */
public record WindowRows(
    int processor, long startNs, long endNs, boolean partial, List<ResultRow> rows, long omitted) {

  public void write(DataOutput out) throws IOException {
    Wire.writeUnsigned(out, processor);
    out.writeLong(startNs);
    out.writeLong(endNs);
    out.writeBoolean(partial);
    Wire.writeUnsigned(out, rows.size());
    for (ResultRow row : rows) {
      row.write(out);
    }
    Wire.writeUnsigned(out, omitted);
  }

  public static WindowRows read(DataInput in) throws IOException {
    int processor = (int) Wire.readUnsigned(in);
    long start = in.readLong();
    long end = in.readLong();
    boolean partial = in.readBoolean();
    int count = (int) Wire.readUnsigned(in);
    List<ResultRow> rows = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      rows.add(ResultRow.read(in));
    }
    return new WindowRows(processor, start, end, partial, rows, Wire.readUnsigned(in));
  }
}
