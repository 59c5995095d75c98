package io.tapline.flink.group;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;
import org.apache.datasketches.kll.KllDoublesSketch;
import org.apache.datasketches.memory.Memory;
import org.apache.datasketches.quantilescommon.QuantileSearchCriteria;

/**
 * Values of one group, mergeable: exact up to {@link #EXACT} values, from there on a KLL sketch for
 * quantiles (rank error below {@link #RANK_ERROR} with 99 % confidence; the sketch draws random
 * bits, so that two runs may differ within it) and counts per histogram bucket, which stay exact.
 *
 * <p>Histogram bounds are the same for every group, two an octave: 0, 1, 2, 3, 4, 6, 8, 12, 16,
 * 24…: a value is in the bucket of the least bound that is not below it.
 */
public final class Distribution {
  public static final int EXACT = 1024;
  private static final int SKETCH_K = 2000;

  /** Normalised rank error of a quantile once there are more than {@link #EXACT} values. */
  public static final double RANK_ERROR = KllDoublesSketch.getNormalizedRankError(SKETCH_K, false);

  private static final int BUCKETS = 127;

  private double[] values = new double[4];
  private int size;
  private KllDoublesSketch sketch;
  private long[] histogram;

  public void update(double value) {
    if (sketch == null && size == EXACT) {
      spill();
    }
    if (sketch != null) {
      sketch.update(value);
      histogram[bucket(value)]++;
      return;
    }
    if (size == values.length) {
      values = Arrays.copyOf(values, 2 * size);
    }
    values[size++] = value;
  }

  public void merge(Distribution other) {
    if (other.sketch == null) {
      for (int i = 0; i < other.size; i++) {
        update(other.values[i]);
      }
      return;
    }
    if (sketch == null) {
      spill();
    }
    sketch.merge(other.sketch);
    for (int i = 0; i < BUCKETS; i++) {
      histogram[i] += other.histogram[i];
    }
  }

  private void spill() {
    sketch = KllDoublesSketch.newHeapInstance(SKETCH_K);
    histogram = new long[BUCKETS];
    for (int i = 0; i < size; i++) {
      sketch.update(values[i]);
      histogram[bucket(values[i])]++;
    }
    values = null;
    size = 0;
  }

  /** The least values that at least each share of all values does not exceed. */
  public double[] quantiles(double... shares) {
    if (sketch != null) {
      return sketch.getQuantiles(shares, QuantileSearchCriteria.INCLUSIVE);
    }
    double[] sorted = Arrays.copyOf(values, size);
    Arrays.sort(sorted);
    double[] quantiles = new double[shares.length];
    for (int i = 0; i < shares.length; i++) {
      int rank = (int) Math.ceil(shares[i] * size);
      quantiles[i] = sorted[Math.max(0, rank - 1)];
    }
    return quantiles;
  }

  /** One quantile; beyond {@link #EXACT} values between bounds that hold it in 99 % of cases. */
  Value quantile(double share) {
    if (sketch == null) {
      return Value.real(quantiles(share)[0]);
    }
    return new Value(
        sketch.getQuantile(share, QuantileSearchCriteria.INCLUSIVE),
        0,
        false,
        sketch.getQuantileLowerBound(share),
        sketch.getQuantileUpperBound(share));
  }

  /** Values per bucket, see {@link #bound}. */
  public long[] histogram() {
    if (histogram != null) {
      return histogram;
    }
    long[] counts = new long[BUCKETS];
    for (int i = 0; i < size; i++) {
      counts[bucket(values[i])]++;
    }
    return counts;
  }

  /** Upper bound of a bucket, inclusive: 0, 1, 2, 3, 4, 6, 8…; the last one holds all the rest. */
  public static long bound(int bucket) {
    if (bucket < 2) {
      return bucket;
    }
    if (bucket == BUCKETS - 1) {
      return Long.MAX_VALUE;
    }
    return bucket % 2 == 0 ? 1L << bucket / 2 : 3L << bucket / 2 - 1;
  }

  static int bucket(double value) {
    if (!(value > 0)) {
      return 0;
    }
    int low = 1;
    int high = BUCKETS - 1;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (value <= bound(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  void write(DataOutput out) throws IOException {
    out.writeBoolean(sketch != null);
    if (sketch == null) {
      Wire.writeUnsigned(out, size);
      for (int i = 0; i < size; i++) {
        out.writeDouble(values[i]);
      }
      return;
    }
    Wire.writeBytes(out, sketch.toByteArray());
    for (long count : histogram) {
      Wire.writeUnsigned(out, count);
    }
  }

  static Distribution read(DataInput in) throws IOException {
    Distribution distribution = new Distribution();
    if (!in.readBoolean()) {
      for (long i = Wire.readUnsigned(in); i > 0; i--) {
        distribution.update(in.readDouble());
      }
      return distribution;
    }
    distribution.values = null;
    distribution.sketch = KllDoublesSketch.heapify(Memory.wrap(Wire.readBytes(in)));
    distribution.histogram = new long[BUCKETS];
    for (int i = 0; i < BUCKETS; i++) {
      distribution.histogram[i] = Wire.readUnsigned(in);
    }
    return distribution;
  }
}
