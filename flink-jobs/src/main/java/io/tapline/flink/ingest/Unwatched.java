package io.tapline.flink.ingest;

import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Packet times at which a monitor does not see everything that its query needs.
 *
 * <pre>
 *   first run               watched ──▶ ┐ its last watermark
 *   second run                                        watched ──▶
 *              ├── span ────┤            ├── span ───┤
 *             -∞          since                    since
 * </pre>
 *
 * <p>Not thread-safe.
 */
public final class Unwatched {
  /**
   * Maximum number of spans. Beyond it, the earliest two are merged, which no longer affects
   * current windows.
   */
  private static final int MAX_SPANS = 64;

  private final NavigableMap<Long, Long> untilByFrom = new TreeMap<>();

  /**
   * Adds the span [{@code fromNs}, {@code untilNs}) in place of any that begins at {@code fromNs};
   * an empty span only removes that one.
   */
  void set(long fromNs, long untilNs) {
    if (untilNs <= fromNs) {
      untilByFrom.remove(fromNs);
      return;
    }
    untilByFrom.put(fromNs, untilNs);
    if (untilByFrom.size() > MAX_SPANS) {
      Map.Entry<Long, Long> first = untilByFrom.pollFirstEntry();
      Map.Entry<Long, Long> second = untilByFrom.pollFirstEntry();
      untilByFrom.put(first.getKey(), Math.max(first.getValue(), second.getValue()));
    }
  }

  /** Returns true if some of the time in [{@code startNs}, {@code endNs}) is not watched. */
  public boolean overlaps(long startNs, long endNs) {
    return untilByFrom.headMap(endNs, false).values().stream().anyMatch(until -> until > startNs);
  }

  /**
   * Returns true if a span begins before {@code endNs}, other than the one before the monitor began
   * to watch.
   */
  public boolean interrupts(long endNs) {
    return !untilByFrom.subMap(Long.MIN_VALUE, false, endNs, false).isEmpty();
  }

  public void write(DataOutput out) throws IOException {
    Wire.writeUnsigned(out, untilByFrom.size());
    for (Map.Entry<Long, Long> span : untilByFrom.entrySet()) {
      out.writeLong(span.getKey());
      out.writeLong(span.getValue());
    }
  }

  public static Unwatched read(DataInput in) throws IOException {
    Unwatched unwatched = new Unwatched();
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      unwatched.untilByFrom.put(in.readLong(), in.readLong());
    }
    return unwatched;
  }
}
