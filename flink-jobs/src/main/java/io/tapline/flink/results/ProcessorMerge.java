package io.tapline.flink.results;

import io.tapline.aggregates.Wire;
import io.tapline.flink.ProcessorSpec;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Merges the buckets' lists of rows into one. For a whole-query window, buckets report only
 * changes, so the last rows of each bucket are stored here.
 */
final class ProcessorMerge {
  private final ProcessorSpec spec;
  private final int max;
  private final Map<Integer, WindowRows> lastOfBucket = new TreeMap<>();

  ProcessorMerge(ProcessorSpec spec, int maxRows) {
    this.spec = spec;
    this.max = spec.rows(maxRows);
  }

  WindowRows merge(OpenWindows.ClosedWindow window) {
    Map<Integer, WindowRows> parts = window.byBucket();
    long end = parts.values().iterator().next().endNs();
    boolean partial = parts.values().stream().anyMatch(WindowRows::partial);
    List<Integer> silent =
        parts.values().stream()
            .flatMap(part -> part.silent().stream())
            .distinct()
            .sorted()
            .toList();
    if (spec.window().isWholeQuery()) {
      lastOfBucket.putAll(parts);
      parts = lastOfBucket;
    }
    long start = parts.values().stream().mapToLong(WindowRows::startNs).min().orElseThrow();
    long omitted = parts.values().stream().mapToLong(WindowRows::omitted).sum();
    List<ResultRow> rows = sorted(parts.values());
    int kept = Math.min(max, rows.size());
    omitted += spec.isRanking() ? 0 : rows.size() - kept;
    return new WindowRows(spec.index(), start, end, partial, rows.subList(0, kept), omitted)
        .without(silent);
  }

  private List<ResultRow> sorted(Collection<WindowRows> parts) {
    return parts.stream()
        .flatMap(part -> part.rows().stream())
        .sorted(ResultRow.order(spec.isAscending()))
        .toList();
  }

  void write(DataOutput out) throws IOException {
    Wire.writeUnsigned(out, lastOfBucket.size());
    for (var entry : lastOfBucket.entrySet()) {
      Wire.writeUnsigned(out, entry.getKey());
      entry.getValue().write(out);
    }
  }

  void read(DataInput in) throws IOException {
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      int bucket = (int) Wire.readUnsigned(in);
      lastOfBucket.put(bucket, WindowRows.read(in));
    }
  }
}
