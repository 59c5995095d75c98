package io.tapline.flink.group;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.datasketches.hll.HllSketch;
import org.apache.datasketches.hll.TgtHllType;
import org.apache.datasketches.hll.Union;
import org.apache.datasketches.memory.Memory;

/**
 * Counts the distinct values of a group by their 64-bit hashes, mergeable: exact up to {@link
 * #EXACT}, from there on an HLL sketch, whose registers do not depend on the order of the values.
 * Not thread-safe.
 */
public final class Distinct {
  public static final int EXACT = 512;

  /** Registers of a sketch, as a power of two: 4 KiB per group, with a standard error of 1.6 %. */
  private static final int LOG_REGISTERS = 12;

  private static final long NOT_ZERO = 0x9e3779b97f4a7c15L;

  /** Bounds at two standard deviations: 95.4 %. */
  private static final int DEVIATIONS = 2;

  /** Open addressing; 0 marks an empty slot, so that hash is replaced by another. */
  private long[] hashes = new long[8];

  private int size;
  private Union sketch;

  public void add(long hash) {
    if (sketch != null) {
      sketch.update(hash);
      return;
    }
    addExact(hash == 0 ? NOT_ZERO : hash);
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

  public void merge(Distinct other) {
    if (other.sketch == null) {
      for (long hash : other.hashes) {
        if (hash != 0) {
          add(hash);
        }
      }
      return;
    }
    if (sketch == null) {
      spill();
    }
    sketch.update(other.sketch.getResult(TgtHllType.HLL_8));
  }

  /** Returns the number, with bounds if it is an estimate. */
  public Value value() {
    if (sketch == null) {
      return Value.whole(size);
    }
    // The sketch's own bounds belong to an estimate that depends on the order, if it knows the
    // order.
    double estimate = sketch.getResult(TgtHllType.HLL_8).getCompositeEstimate();
    return new Value(
        estimate, 0, false, estimate / (1 + error(false)), estimate / (1 - error(true)));
  }

  private static double error(boolean upper) {
    return HllSketch.getRelErr(upper, true, LOG_REGISTERS, DEVIATIONS);
  }

  void write(DataOutput out) throws IOException {
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

  static Distinct read(DataInput in) throws IOException {
    Distinct distinct = new Distinct();
    if (in.readBoolean()) {
      distinct.spill();
      distinct.sketch.update(HllSketch.heapify(Memory.wrap(Wire.readBytes(in))));
      return distinct;
    }
    for (long i = Wire.readUnsigned(in); i > 0; i--) {
      distinct.add(in.readLong());
    }
    return distinct;
  }
}
