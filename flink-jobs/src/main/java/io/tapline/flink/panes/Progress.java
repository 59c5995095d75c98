package io.tapline.flink.panes;

import io.tapline.aggregates.Wire;
import io.tapline.flink.ingest.Mark;
import io.tapline.flink.ingest.Unwatched;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The progress of each monitor of the plan, as reported to one bucket.
 *
 * <p>The watermark is the minimum over all monitors. A monitor that has never sent holds it back;
 * one that has ended does not. Nor does a silent monitor, unless all are silent, since the fault is
 * then elsewhere. The watermark never decreases. If a silent monitor sends again, its tuples from
 * before the watermark are late, and windows wait until it has caught up.
 */
final class Progress {
  private final long[] marksNs;
  private final boolean[] ended;
  private final Unwatched[] unwatched;

  /** True for silent monitors. Not checkpointed, since a restarted job detects silence again. */
  private final boolean[] silent;

  private long watermarkNs = Long.MIN_VALUE;

  Progress(int monitors) {
    marksNs = new long[monitors];
    ended = new boolean[monitors];
    unwatched = new Unwatched[monitors];
    silent = new boolean[monitors];
    Arrays.setAll(unwatched, monitor -> new Unwatched());
    Arrays.fill(marksNs, Long.MIN_VALUE);
  }

  void take(List<Mark> marks) {
    for (Mark mark : marks) {
      marksNs[mark.monitor()] = Math.max(marksNs[mark.monitor()], mark.ns());
      ended[mark.monitor()] |= mark.ended();
      silent[mark.monitor()] = mark.silent();
      unwatched[mark.monitor()] = mark.unwatched();
    }
    watermarkNs = Math.max(watermarkNs, minNs());
  }

  private long minNs() {
    long min = Long.MAX_VALUE;
    long minHeard = Long.MAX_VALUE;
    boolean anyActive = false;
    for (int i = 0; i < marksNs.length; i++) {
      min = ended[i] ? min : Math.min(min, marksNs[i]);
      minHeard = ended[i] || silent[i] ? minHeard : Math.min(minHeard, marksNs[i]);
      anyActive |= ended[i] || !silent[i];
    }
    return anyActive ? minHeard : min;
  }

  /**
   * Returns the time before which tuples are late; {@link Long#MAX_VALUE} once no active monitor is
   * left.
   */
  long watermarkNs() {
    return watermarkNs;
  }

  boolean allEnded() {
    return watermarkNs == Long.MAX_VALUE;
  }

  /** Returns true if some monitor did not watch throughout a window that closes now. */
  boolean isPartial(long windowStartNs, long windowEndNs) {
    return !silentBefore(windowEndNs).isEmpty()
        || IntStream.range(0, marksNs.length)
            .anyMatch(
                i ->
                    ended[i] && marksNs[i] < windowEndNs
                        || unwatched[i].overlaps(windowStartNs, windowEndNs));
  }

  /**
   * Returns true if some monitor stopped watching, even temporarily, after it had begun and before
   * {@code endNs}.
   */
  boolean wasInterrupted(long endNs) {
    return !silentBefore(endNs).isEmpty()
        || Arrays.stream(unwatched).anyMatch(span -> span.interrupts(endNs));
  }

  /**
   * Returns the silent monitors whose tuples are incomplete for a window that ends at {@code
   * windowEndNs}.
   */
  List<Integer> silentBefore(long windowEndNs) {
    return IntStream.range(0, marksNs.length)
        .filter(i -> silent[i] && !ended[i] && marksNs[i] < windowEndNs)
        .boxed()
        .toList();
  }

  /** Returns the end of the observation. REQUIRES: all monitors have ended. */
  long lastMarkNs() {
    return Arrays.stream(marksNs).max().orElse(Long.MIN_VALUE);
  }

  void write(DataOutput out) throws IOException {
    out.writeLong(watermarkNs);
    Wire.writeUnsigned(out, marksNs.length);
    for (int i = 0; i < marksNs.length; i++) {
      out.writeLong(marksNs[i]);
      out.writeBoolean(ended[i]);
      unwatched[i].write(out);
    }
  }

  void read(DataInput in) throws IOException {
    watermarkNs = in.readLong();
    int stored = (int) Wire.readUnsigned(in);
    for (int i = 0; i < stored; i++) {
      long mark = in.readLong();
      boolean ends = in.readBoolean();
      Unwatched spans = Unwatched.read(in);
      if (i < marksNs.length) {
        marksNs[i] = Math.max(marksNs[i], mark);
        ended[i] |= ends;
        unwatched[i] = spans;
      }
    }
  }
}
