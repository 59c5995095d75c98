package io.tapline.aggregates;

/**
 * The buckets of histograms, the same for every group, two per octave: bounds are 0, 1, 2, 3, 4, 6,
 * 8, 12, 16, 24…, and a value belongs to the bucket with the smallest bound that is not below it.
 */
public final class Histogram {
  public static final int BUCKETS = 127;

  private Histogram() {}

  /** Returns the inclusive upper bound of a bucket; the last bucket is unbounded. */
  public static long bound(int bucket) {
    if (bucket < 2) {
      return bucket;
    }
    if (bucket == BUCKETS - 1) {
      return Long.MAX_VALUE;
    }
    return bucket % 2 == 0 ? 1L << bucket / 2 : 3L << bucket / 2 - 1;
  }

  /** Returns the bucket of a value. */
  public static int bucket(double value) {
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
}
