package io.tapline.flink.results;

import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Windows for which some buckets have reported rows, and others may still report some. */
final class OpenWindows {
  private record Id(long endNs, int processor) implements Comparable<Id> {
    private static final Comparator<Id> ORDER =
        Comparator.comparingLong(Id::endNs).thenComparingInt(Id::processor);

    @Override
    public int compareTo(Id other) {
      return ORDER.compare(this, other);
    }
  }

  /** A complete window, with the rows of each bucket that had any. */
  record ClosedWindow(int processor, Map<Integer, WindowRows> byBucket) {}

  private final long[] marksNs;
  private final TreeMap<Id, Map<Integer, WindowRows>> open = new TreeMap<>();

  OpenWindows(int buckets) {
    marksNs = new long[buckets];
    Arrays.fill(marksNs, Long.MIN_VALUE);
  }

  void add(BucketReport report) {
    marksNs[report.bucket()] = Math.max(marksNs[report.bucket()], report.watermarkNs());
    for (WindowRows window : report.windows()) {
      open.computeIfAbsent(new Id(window.endNs(), window.processor()), id -> new TreeMap<>())
          .put(report.bucket(), window);
    }
  }

  /** Returns the time up to which every bucket has reported its windows. */
  long watermarkNs() {
    return Arrays.stream(marksNs).min().orElseThrow();
  }

  /** Removes and returns the windows that end at or before {@link #watermarkNs}, earliest first. */
  List<ClosedWindow> close() {
    List<ClosedWindow> closed = new ArrayList<>();
    long watermark = watermarkNs();
    while (!open.isEmpty() && open.firstKey().endNs() <= watermark) {
      var first = open.pollFirstEntry();
      closed.add(new ClosedWindow(first.getKey().processor(), first.getValue()));
    }
    return closed;
  }

  void write(DataOutput out) throws IOException {
    for (long mark : marksNs) {
      out.writeLong(mark);
    }
    Wire.writeUnsigned(out, open.values().stream().mapToInt(Map::size).sum());
    for (Map<Integer, WindowRows> byBucket : open.values()) {
      for (var entry : byBucket.entrySet()) {
        Wire.writeUnsigned(out, entry.getKey());
        entry.getValue().write(out);
      }
    }
  }

  void read(DataInput in) throws IOException {
    for (int i = 0; i < marksNs.length; i++) {
      marksNs[i] = in.readLong();
    }
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      int bucket = (int) Wire.readUnsigned(in);
      WindowRows window = WindowRows.read(in);
      open.computeIfAbsent(new Id(window.endNs(), window.processor()), id -> new TreeMap<>())
          .put(bucket, window);
    }
  }
}
