package io.tapline.flink.group;

import io.tapline.aggregates.Value;
import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/**
 * Counts, by entry of a table, the tuples without a value, the unanswered ones, and those with only
 * a request or only a response. Most tables have no such tuples. Not thread-safe.
 */
final class Tallies {
  /** Tuples without a value; the other kinds are those of {@link Answers}. */
  static final int ABSENT = 0;

  private static final int KINDS = 3;

  private long[] counts;

  /**
   * Additional tuples that the counted ones represent, by entry and kind; null unless flows were
   * sampled.
   */
  private double[] more;

  Tallies(int capacity) {
    counts = new long[capacity * KINDS];
  }

  void growTo(int capacity) {
    counts = Arrays.copyOf(counts, capacity * KINDS);
    more = more == null ? null : Arrays.copyOf(more, capacity * KINDS);
  }

  void add(int entry, int kind, double rate) {
    counts[entry * KINDS + kind]++;
    if (rate < 1) {
      addMore(entry * KINDS + kind, 1 / rate - 1);
    }
  }

  private void addMore(int place, double tuples) {
    if (more == null) {
      more = new double[counts.length];
    }
    more[place] += tuples;
  }

  boolean sampled() {
    return more != null;
  }

  long count(int entry, int kind) {
    return counts[entry * KINDS + kind];
  }

  /** Returns the number of tuples of a kind, scaled up if flows were sampled. */
  Value value(int entry, int kind) {
    double estimated = more == null ? 0 : more[entry * KINDS + kind];
    long counted = count(entry, kind);
    return estimated == 0 ? Value.whole(counted) : Value.real(counted + estimated);
  }

  void add(int entry, Tallies addedTallies, int otherEntry) {
    for (int kind = 0; kind < KINDS; kind++) {
      counts[entry * KINDS + kind] += addedTallies.counts[otherEntry * KINDS + kind];
      if (addedTallies.more != null) {
        addMore(entry * KINDS + kind, addedTallies.more[otherEntry * KINDS + kind]);
      }
    }
  }

  /**
   * Undoes {@link #add(int, Tallies, int)}. REQUIRES: {@code subtracted} was added before, and its
   * flows were not sampled.
   */
  void subtract(int entry, Tallies subtracted, int otherEntry) {
    for (int kind = 0; kind < KINDS; kind++) {
      counts[entry * KINDS + kind] -= subtracted.counts[otherEntry * KINDS + kind];
    }
  }

  /**
   * Writes an entry of {@code tallies}, which may be null; only one byte if the entry has no
   * tallies.
   */
  static void write(DataOutput out, Tallies tallies, int entry) throws IOException {
    int some = 0;
    for (int kind = 0; tallies != null && kind < KINDS; kind++) {
      some |= tallies.count(entry, kind) == 0 ? 0 : 1 << kind;
    }
    out.writeByte(some);
    for (int kind = 0; kind < KINDS; kind++) {
      if ((some & 1 << kind) != 0) {
        Wire.writeUnsigned(out, tallies.count(entry, kind));
        out.writeDouble(tallies.more == null ? 0 : tallies.more[entry * KINDS + kind]);
      }
    }
  }

  /** Reads tallies of one entry that {@link #write} wrote; returns null if there are none. */
  static Tallies read(DataInput in) throws IOException {
    int some = in.readByte();
    Tallies read = some == 0 ? null : new Tallies(1);
    for (int kind = 0; kind < KINDS; kind++) {
      if ((some & 1 << kind) != 0) {
        read.counts[kind] = Wire.readUnsigned(in);
        double furtherCount = in.readDouble();
        if (furtherCount != 0) {
          read.addMore(kind, furtherCount);
        }
      }
    }
    return read;
  }
}
