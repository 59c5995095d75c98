package io.tapline.sim.streams;

import java.util.Random;

/**
 * Requests whose popularity follows Zipf's law while the ranks of keys change: every minute, some
 * neighbours among the top ranks swap places, and occasionally an unpopular key enters the top ten
 * and pushes the keys below it down. Not thread-safe.
 */
final class HotSet {
  /** Ranks among which keys swap places. */
  private static final int HOT = 20;

  private static final int SWAPS_A_MINUTE = 3;
  private static final double NEWCOMERS_A_MINUTE = 0.15;

  private final Random random;
  private final Zipf zipf;
  private final int[] keyOfRank;

  HotSet(int keys, long seed) {
    random = new Random(seed);
    zipf = new Zipf(keys);
    keyOfRank = new int[keys];
    for (int rank = 0; rank < keys; rank++) {
      keyOfRank[rank] = rank;
    }
  }

  /** Generates one minute's requests, then shifts the hot set. */
  void minute(int[] keys, int begin, int end) {
    for (int i = begin; i < end; i++) {
      keys[i] = keyOfRank[zipf.next(random)];
    }
    for (int i = 0; i < SWAPS_A_MINUTE; i++) {
      int rank = random.nextInt(HOT - 1);
      move(rank + 1, rank);
    }
    if (random.nextDouble() < NEWCOMERS_A_MINUTE) {
      move(HOT + random.nextInt(keyOfRank.length - HOT), random.nextInt(10));
    }
  }

  /** Moves a key up from one rank to another. */
  private void move(int source, int target) {
    int key = keyOfRank[source];
    System.arraycopy(keyOfRank, target, keyOfRank, target + 1, source - target);
    keyOfRank[target] = key;
  }
}
