package io.tapline.placement;

import java.util.random.RandomGenerator;

/** A way to place a query. The same problem and random numbers give the same layout. */
@FunctionalInterface
public interface Strategy {
  /**
   * Places everything.
   *
   * @throws PlacementException if it can't be placed this way
   */
  Layout place(Problem problem, RandomGenerator random);
}
