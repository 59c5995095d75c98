package io.tapline.aggregates.distinct;

import io.tapline.aggregates.Accumulator;
import io.tapline.aggregates.Group;
import io.tapline.aggregates.Value;
import io.tapline.aggregates.Wire;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.hll.TgtHllType;
import org.apache.datasketches.hll.Union;
import org.apache.datasketches.memory.Memory;

/**
 * A group's distinct values, counted by their 64-bit hashes: exactly up to {@link #EXACT}, beyond
 * that by an HLL sketch, whose registers do not depend on the order of the values. Mergeable. Not
 * thread-safe.
 */
final class Hashes implements Accumulator<Hashes> {
  static final int EXACT = 512;

  /**
   * Base-2 logarithm of a sketch's number of registers: 4 KiB per group, with a standard error of
   * 1.6 %.
   */
  private static final int LOG_REGISTERS = 12;

  private static final long NOT_ZERO = 0x9e3779b97f4a7c15L;

  /** Distance from the estimate to its bounds in standard deviations, for 95.4 % confidence. */
  private static final int DEVIATIONS = 2;

  /** Open addressing; 0 marks an empty slot, so a hash of 0 is replaced. */
  private long[] hashes = new long[8];

  private int size;
  private Union sketch;

  @Override
  public void addHash(long hash) {
    long kept = hash == 0 ? NOT_ZERO : hash;
    if (sketch != null) {
      sketch.update(kept);
      return;
    }
    addExact(kept);
    if (size > EXACT) {
      spill();
    }
  }

  private void addExact(long hash) {
    int mask = hashes.length - 1;
    int slot = (int) hash & mask;
    while (hashes[slot] != 0) {
      if (hashes[slot] == hash) {
        return;
      }
      slot = slot + 1 & mask;
    }
    hashes[slot] = hash;
    size++;
    if (2 * size > hashes.length) {
      grow();
    }
  }

  private void grow() {
    long[] all = hashes;
    hashes = new long[2 * all.length];
    size = 0;
    for (long hash : all) {
      if (hash != 0) {
        addExact(hash);
      }
    }
  }

  private void spill() {
    sketch = new Union(LOG_REGISTERS);
    for (long hash : hashes) {
      if (hash != 0) {
        sketch.update(hash);
      }
    }
    hashes = null;
    size = 0;
  }

  @Override
  public void merge(Hashes other) {
    if (other.sketch == null) {
      for (long hash : other.hashes) {
        if (hash != 0) {
          addHash(hash);
        }
      }
      return;
    }
    if (sketch == null) {
      spill();
    }
    sketch.update(other.sketch.getResult(TgtHllType.HLL_8));
  }

  /**
   * Returns the number of distinct values. If flows were sampled, it is only a lower bound, since
   * the other flows may have other values.
   */
  @Override
  public Value result(Group context) {
    return context.atLeast(value());
  }

  /** Returns the number, with bounds if it is an estimate. */
  Value value() {
    if (sketch == null) {
      return Value.whole(size);
    }
    // The sketch's own bounds apply to an estimate that may depend on the order of the values.
    double estimate = sketch.getResult(TgtHllType.HLL_8).getCompositeEstimate();
    return new Value(
        estimate, 0, false, estimate / (1 + error(false)), estimate / (1 - error(true)));
  }

  private static double error(boolean isUpper) {
    return HllSketch.getRelErr(isUpper, true, LOG_REGISTERS, DEVIATIONS);
  }

  @Override
  public void write(DataOutput out) throws IOException {
    out.writeBoolean(sketch != null);
    if (sketch != null) {
      Wire.writeBytes(out, sketch.getResult(TgtHllType.HLL_8).toCompactByteArray());
      return;
    }
    Wire.writeUnsigned(out, size);
    for (long hash : hashes) {
      if (hash != 0) {
        out.writeLong(hash);
      }
    }
  }

  @Override
  public void read(DataInput in) throws IOException {
    if (in.readBoolean()) {
      spill();
      sketch.update(HllSketch.heapify(Memory.wrap(Wire.readBytes(in))));
      return;
    }
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      addHash(in.readLong());
    }
  }
}
