package io.tapline.placement;

import io.tapline.network.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * NetAlytics' first-fit algorithm (4.1): starts a new engine on a random host only if no existing
 * one has room.
 */
final class FirstFitEngines implements EnginePlacer {
  @Override
  public void place(Engines engines, Topology topology, HostUse use, RandomGenerator random) {
    List<Integer> open = new ArrayList<>();
    for (int source = 0; source < engines.sources.host().length; source++) {
      boolean all = false;
      while (!all) {
        int engine = firstFit(engines, open, source);
        if (engine < 0) {
          engine = engines.start(use.random(engines.kind.need(), random));
          open.add(engine);
        }
        all = engines.read(engine, source);
      }
    }
  }

  private static int firstFit(Engines engines, List<Integer> open, int source) {
    open.removeIf(engine -> engines.room(engine) == 0);
    for (int engine : open) {
      if (engines.accepts(engine, source)) {
        return engine;
      }
    }
    return -1;
  }
}
