package io.tapline.flink.group;

import java.util.Arrays;

/**
 * Numbers distinct keys from 0, using an open-addressing index. Entries never move and are never
 * removed. Not thread-safe.
 */
final class KeyIndex {
  private static final long HASH_BITS = 0xffff_ffff_0000_0000L;

  /** Number of keys that are looked up together, so that their cache misses overlap. */
  private static final int STRIDE = 64;

  private int size;

  /**
   * Slots: the entry + 1 in the low half, the high half of the key's hash in the high half; 0 if
   * free.
   */
  private long[] index = new long[32];

  private byte[][] keys = new byte[16][];
  private long[] hashes = new long[16];

  int size() {
    return size;
  }

  byte[] key(int entry) {
    return keys[entry];
  }

  long hash(int entry) {
    return hashes[entry];
  }

  /** Returns the entry of a key, or -1. */
  int find(byte[] key, int begin, int end, long hash) {
    int mask = index.length - 1;
    for (int slot = (int) hash & mask; index[slot] != 0; slot = slot + 1 & mask) {
      if (((index[slot] ^ hash) & HASH_BITS) == 0) {
        int entry = (int) index[slot] - 1;
        if (equal(keys[entry], key, begin, end)) {
          return entry;
        }
      }
    }
    return -1;
  }

  private static boolean equal(byte[] known, byte[] key, int begin, int end) {
    return Arrays.equals(known, 0, known.length, key, begin, end);
  }

  /**
   * Adds a key and returns its entry. REQUIRES: the key is not in the index yet. The index keeps
   * the array.
   */
  int add(byte[] key, long hash) {
    if (size == keys.length) {
      grow();
    }
    keys[size] = key;
    hashes[size] = hash;
    link(size);
    return size++;
  }

  private void grow() {
    keys = Arrays.copyOf(keys, 2 * size);
    hashes = Arrays.copyOf(hashes, 2 * size);
    index = new long[4 * size];
    for (int entry = 0; entry < size; entry++) {
      link(entry);
    }
  }

  private void link(int entry) {
    int mask = index.length - 1;
    int slot = (int) hashes[entry] & mask;
    while (index[slot] != 0) {
      slot = slot + 1 & mask;
    }
    index[slot] = hashes[entry] & HASH_BITS | entry + 1;
  }

  /**
   * Looks up many keys of a list: sets {@code entries[i]} to the entry of key {@code wanted[i]}, or
   * to -1. A large table does not fit into the caches. The loads of each step are independent, so
   * the CPU has many of them in flight at once.
   *
   * @param count number of wanted keys
   */
  void find(KeyList list, int[] wanted, int count, int[] entries) {
    long[] slots = new long[STRIDE];
    byte[][] known = new byte[STRIDE][];
    for (int first = 0; first < count; first += STRIDE) {
      int some = Math.min(STRIDE, count - first);
      loadSlots(list, wanted, first, some, slots);
      loadKeys(slots, some, known);
      for (int i = 0; i < some; i++) {
        int key = wanted[first + i];
        boolean isSame =
            ((slots[i] ^ list.hash(key)) & HASH_BITS) == 0
                && known[i] != null
                && equal(known[i], list.bytes(), list.start(key), list.end(key));
        entries[first + i] =
            isSame
                ? (int) slots[i] - 1
                : find(list.bytes(), list.start(key), list.end(key), list.hash(key));
      }
    }
  }

  private void loadSlots(KeyList list, int[] wanted, int first, int some, long[] slots) {
    int mask = index.length - 1;
    for (int i = 0; i < some; i++) {
      slots[i] = index[(int) list.hash(wanted[first + i]) & mask];
    }
  }

  private void loadKeys(long[] slots, int some, byte[][] known) {
    for (int i = 0; i < some; i++) {
      byte[] key = slots[i] == 0 ? null : keys[(int) slots[i] - 1];
      // Reading the length, which is stored with the key, prefetches the key for the comparison.
      known[i] = key == null || key.length < 0 ? null : key;
    }
  }
}
