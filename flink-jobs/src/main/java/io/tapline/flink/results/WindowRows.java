package io.tapline.flink.results;

import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The rows of one window, from one bucket or from all.
 *
 * @param startNs first nanosecond of the window
 * @param endNs first nanosecond after the window
 * @param partial whether some monitor did not watch throughout the window, or the window has not
 *     ended
 * @param omitted number of rows beyond the limit
 * @param silent indexes of the silent monitors for which the window did not wait
 */
public record WindowRows(
    int processor,
    long startNs,
    long endNs,
    boolean partial,
    List<ResultRow> rows,
    long omitted,
    List<Integer> silent) {

  /** Creates a window that waited for all monitors. */
  public WindowRows(
      int processor,
      long startNs,
      long endNs,
      boolean partial,
      List<ResultRow> rows,
      long omitted) {
    this(processor, startNs, endNs, partial, rows, omitted, List.of());
  }

  /** Returns the same window, marked as one that did not wait for {@code monitors}. */
  public WindowRows without(List<Integer> monitors) {
    return monitors.isEmpty()
        ? this
        : new WindowRows(processor, startNs, endNs, partial, rows, omitted, monitors);
  }

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
    Wire.writeUnsigned(out, silent.size());
    for (int monitor : silent) {
      Wire.writeUnsigned(out, monitor);
    }
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
    long omitted = Wire.readUnsigned(in);
    List<Integer> silent = new ArrayList<>();
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      silent.add((int) Wire.readUnsigned(in));
    }
    return new WindowRows(processor, start, end, partial, rows, omitted, silent);
  }
}
