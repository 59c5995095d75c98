package io.tapline.sim.streams;

import java.util.Arrays;
import java.util.Random;

/** Draws ranks from 0, with probabilities in proportion to 1 / (rank + 1). Immutable. */
final class Zipf {
  private final double[] cumulated;

  Zipf(int ranks) {
    cumulated = new double[ranks];
    double sum = 0;
    for (int rank = 0; rank < ranks; rank++) {
      sum += 1.0 / (rank + 1);
      cumulated[rank] = sum;
    }
  }

  int next(Random random) {
    double point = random.nextDouble() * cumulated[cumulated.length - 1];
    int place = Arrays.binarySearch(cumulated, point);
    return place >= 0 ? place : Math.min(cumulated.length - 1, -1 - place);
  }
}
