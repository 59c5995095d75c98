package io.tapline.flink.accounting;

import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/**
 * Counts events by reason. The number of reasons is limited, because a hostile sender can invent
 * reasons.
 */
public final class Counters {
  private static final int MAX_REASONS = 256;
  private static final String OTHER = "other";

  private final Map<String, Long> counts = new TreeMap<>();

  public void add(String reason, long count) {
    if (count != 0) {
      boolean hasRoom = counts.size() < MAX_REASONS || counts.containsKey(reason);
      counts.merge(hasRoom ? reason : OTHER, count, Long::sum);
    }
  }

  public void add(Counters addedCounters) {
    addedCounters.counts.forEach(this::add);
  }

  /**
   * Undoes {@link #add}. REQUIRES: all of {@code subtracted} was added, and no reason was folded.
   */
  void subtract(Counters subtracted) {
    subtracted.counts.forEach(
        (reason, count) ->
            counts.computeIfPresent(
                reason, (same, sum) -> sum.longValue() == count ? null : sum - count));
  }

  /** Returns true if a reason may have been counted as {@code other}. */
  boolean isFull() {
    return counts.size() >= MAX_REASONS;
  }

  public long get(String reason) {
    return counts.getOrDefault(reason, 0L);
  }

  public boolean isEmpty() {
    return counts.isEmpty();
  }

  /** Returns the counts, sorted by reason. */
  public Map<String, Long> byReason() {
    return counts;
  }

  void write(DataOutput out) throws IOException {
    Wire.writeUnsigned(out, counts.size());
    for (var entry : counts.entrySet()) {
      Wire.writeText(out, entry.getKey());
      Wire.writeUnsigned(out, entry.getValue());
    }
  }

  void read(DataInput in) throws IOException {
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      add(Wire.readText(in), Wire.readUnsigned(in));
    }
  }
}
