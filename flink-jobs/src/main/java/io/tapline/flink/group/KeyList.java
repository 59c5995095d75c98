package io.tapline.flink.group;

import java.util.Arrays;

/** A list of keys stored one after another in one array, with their hashes. Not thread-safe. */
public final class KeyList {
  private final KeyBuffer buffer = new KeyBuffer();
  private int[] ends = new int[64];
  private long[] hashes = new long[64];
  private int size;

  public void clear() {
    buffer.clear();
    size = 0;
  }

  /** Returns the buffer to which the next key is written, field by field. */
  public KeyBuffer buffer() {
    return buffer;
  }

  /** Ends the key in the buffer and returns its index in the list. */
  public int end() {
    if (size == ends.length) {
      ends = Arrays.copyOf(ends, 2 * size);
      hashes = Arrays.copyOf(hashes, 2 * size);
    }
    hashes[size] = Key.hash(buffer.array(), start(size), buffer.length());
    ends[size] = buffer.length();
    return size++;
  }

  byte[] bytes() {
    return buffer.array();
  }

  int start(int key) {
    return key == 0 ? 0 : ends[key - 1];
  }

  int end(int key) {
    return ends[key];
  }

  long hash(int key) {
    return hashes[key];
  }

  byte[] copy(int key) {
    return Arrays.copyOfRange(buffer.array(), start(key), end(key));
  }
}
