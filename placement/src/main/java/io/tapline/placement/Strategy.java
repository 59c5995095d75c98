package io.tapline.placement;

import java.util.random.RandomGenerator;

/**
 * A strategy for placing a query. The same problem and random numbers always give the same layout.
 */
@FunctionalInterface
public interface Strategy {
  /**
   * Places all processes.
   *
   * @throws PlacementException if this strategy finds no placement
   */
  Layout place(Problem problem, RandomGenerator random);
}
