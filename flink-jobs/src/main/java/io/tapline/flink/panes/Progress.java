package io.tapline.flink.panes;

import io.tapline.flink.group.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/**
 * How far each monitor of the plan has come, as one bucket has been told.
 *
 * <p>The watermark is the least of all; a monitor that was never heard holds it back, one that
 * ended does not.
 */
final class Progress {
  private final long[] marksNs;
  private final boolean[] ended;

  Progress(int monitors) {
    marksNs = new long[monitors];
    ended = new boolean[monitors];
    Arrays.fill(marksNs, Long.MIN_VALUE);
  }

  void move(int monitor, long markNs, boolean ends) {
    marksNs[monitor] = Math.max(marksNs[monitor], markNs);
    ended[monitor] |= ends;
  }

  void move(Progress other) {
    for (int i = 0; i < marksNs.length; i++) {
      move(i, other.marksNs[i], other.ended[i]);
    }
  }

  int monitors() {
    return marksNs.length;
  }

  /** No tuple before this one is to come; {@link Long#MAX_VALUE} once all have ended. */
  long watermarkNs() {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < marksNs.length; i++) {
      least = ended[i] ? least : Math.min(least, marksNs[i]);
    }
    return least;
  }

  boolean allEnded() {
    return watermarkNs() == Long.MAX_VALUE;
  }

  /** Whether some monitor's observation ended before {@code windowEndNs}. */
  boolean cuts(long windowEndNs) {
    for (int i = 0; i < marksNs.length; i++) {
      if (ended[i] && marksNs[i] < windowEndNs) {
        return true;
      }
    }
    return false;
  }

  /** The end of all that was observed. REQUIRES: all ended. */
  long lastMarkNs() {
    return Arrays.stream(marksNs).max().orElse(Long.MIN_VALUE);
  }

  void write(DataOutput out) throws IOException {
    Wire.writeUnsigned(out, marksNs.length);
    for (int i = 0; i < marksNs.length; i++) {
      out.writeLong(marksNs[i]);
      out.writeBoolean(ended[i]);
    }
  }

  void read(DataInput in) throws IOException {
    int stored = (int) Wire.readUnsigned(in);
    for (int i = 0; i < stored; i++) {
      long mark = in.readLong();
      boolean ends = in.readBoolean();
      if (i < marksNs.length) {
        move(i, mark, ends);
      }
    }
  }
}
