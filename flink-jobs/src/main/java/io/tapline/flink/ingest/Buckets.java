package io.tapline.flink.ingest;

import org.apache.flink.runtime.state.KeyGroupRangeAssignment;

/**
 * Buckets are the job's unit of parallel state: the hash of a group's key determines its bucket.
 * The number of buckets never changes, so that a job can be restored with a different parallelism.
 */
public final class Buckets {
  public static final int COUNT = 32;

  /** Number of Flink key groups, which limits the parallelism of keyed operators. */
  public static final int MAX_PARALLELISM = 128;

  private static final int[] KEYS = keys();

  private Buckets() {}

  /**
   * Returns the bucket of a key's hash. Uses the top bits, since tables choose slots by the low
   * ones.
   */
  static int of(long hash) {
    return (int) (hash >>> 59);
  }

  /**
   * Returns the number that represents a bucket in keyBy. The numbers are chosen so that buckets
   * spread evenly over key groups.
   */
  static int key(int bucket) {
    return KEYS[bucket];
  }

  /** Returns the bucket for which {@link #key} returns this number. */
  public static int ofKey(int key) {
    for (int bucket = 0; bucket < COUNT; bucket++) {
      if (KEYS[bucket] == key) {
        return bucket;
      }
    }
    throw new IllegalArgumentException(key + " is not the key of a bucket");
  }

  private static int[] keys() {
    int[] keys = new int[COUNT];
    for (int bucket = 0; bucket < COUNT; bucket++) {
      int group = bucket * MAX_PARALLELISM / COUNT;
      int key = 0;
      while (KeyGroupRangeAssignment.assignToKeyGroup(key, MAX_PARALLELISM) != group) {
        key++;
      }
      keys[bucket] = key;
    }
    return keys;
  }
}
