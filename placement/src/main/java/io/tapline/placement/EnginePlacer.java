package io.tapline.placement;

import io.tapline.network.Topology;
import java.util.random.RandomGenerator;

/** Decides where aggregators or processors run, and which sources each one reads. */
@FunctionalInterface
interface EnginePlacer {
  /** Starts engines until all sources are read. */
  void place(Engines engines, Topology topology, HostUse use, RandomGenerator random);
}
