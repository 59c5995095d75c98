package io.tapline.control.drill;

import io.tapline.schema.rpc.AggregateState;

/**
 * Aggregate functions with mergeable states, which nodes send as arrays of 64-bit words
 * (schema/sketches.md, multilog/aggregate/function.h).
 */
enum Sketches {
  /** Count, mean, and sum of squared differences from the mean, the latter two as doubles. */
  STDEV(3) {
    @Override
    void merge(long[] target, long[] source) {
      long a = target[0];
      long b = source[0];
      if (b == 0) {
        return;
      }
      double count = (double) a + b;
      double delta = real(source[1]) - real(target[1]);
      double squares = real(target[2]) + real(source[2]) + delta * delta * a * b / count;
      target[0] = a + b;
      target[1] = Double.doubleToRawLongBits(real(target[1]) + delta * b / count);
      target[2] = Double.doubleToRawLongBits(squares);
    }

    @Override
    Double value(long[] state, double quantile) {
      return state[0] == 0 ? null : Math.sqrt(Math.max(0, real(state[2]) / state[0]));
    }

    private static double real(long word) {
      return Double.longBitsToDouble(word);
    }
  },

  /** HyperLogLog with 2048 one-byte registers. */
  DISTINCT(256) {
    @Override
    void merge(long[] target, long[] source) {
      for (int i = 0; i < target.length; i++) {
        long merged = 0;
        for (int shift = 0; shift < Long.SIZE; shift += Byte.SIZE) {
          merged |= Math.max(target[i] >>> shift & 255, source[i] >>> shift & 255) << shift;
        }
        target[i] = merged;
      }
    }

    @Override
    Double value(long[] state, double quantile) {
      double registers = state.length * Long.BYTES;
      double sum = 0;
      double zeros = 0;
      for (long word : state) {
        for (int shift = 0; shift < Long.SIZE; shift += Byte.SIZE) {
          int rank = (int) (word >>> shift & 255);
          sum += Math.scalb(1.0, -rank);
          zeros += rank == 0 ? 1 : 0;
        }
      }
      double estimate = 0.7213 / (1 + 1.079 / registers) * registers * registers / sum;
      return estimate <= 2.5 * registers && zeros > 0
          ? registers * Math.log(registers / zeros)
          : estimate;
    }
  },

  /** Counters of value ranges, 32 for each power of two. */
  QUANTILE(1920) {
    private static final int SUBS = 32;

    @Override
    void merge(long[] target, long[] source) {
      for (int i = 0; i < target.length; i++) {
        target[i] += source[i];
      }
    }

    @Override
    Double value(long[] state, double quantile) {
      long total = 0;
      for (long counter : state) {
        total += counter;
      }
      if (total == 0) {
        return null;
      }
      long rank = (long) Math.min(quantile * total, total - 1.0);
      long below = 0;
      int counter = -1;
      while (below <= rank) {
        below += state[++counter];
      }
      double min = min(counter);
      double next = counter + 1 < state.length ? min(counter + 1) : Math.scalb(1.0, Long.SIZE);
      return min + Math.floor((next - min - 1) / 2);
    }

    private static double min(int counter) {
      return counter < SUBS
          ? counter
          : Math.scalb((double) (SUBS + counter % SUBS), counter / SUBS - 1);
    }
  };

  private final int words;

  Sketches(int words) {
    this.words = words;
  }

  /** Merges another node's state. */
  abstract void merge(long[] target, long[] source);

  /** Returns the result; null if there is none because nothing was counted. */
  abstract Double value(long[] state, double quantile);

  /** Returns true if nodes send mergeable states for this function. */
  static boolean has(String function) {
    for (Sketches sketch : values()) {
      if (sketch.name().equals(function)) {
        return true;
      }
    }
    return false;
  }

  long[] empty() {
    return new long[words];
  }

  /**
   * Decodes a state.
   *
   * @throws IllegalArgumentException if it is not a valid state of this kind
   */
  long[] read(AggregateState state) {
    long[] array = empty();
    if (state.getIndexCount() != state.getWordCount()) {
      throw new IllegalArgumentException(
          "the numbers of indexes and words of a state must be equal");
    }
    for (int i = 0; i < state.getIndexCount(); i++) {
      int index = state.getIndex(i);
      if (index < 0 || index >= words) {
        throw new IllegalArgumentException(
            "the indexes of a state of " + name() + " must be below " + words);
      }
      array[index] = state.getWord(i);
    }
    return array;
  }
}
