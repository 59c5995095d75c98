package io.tapline.placement;

import io.tapline.network.Topology;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * NetAlytics' local-random algorithm (4.1): assigns a source to an engine with room under one of
 * the source's aggregation switches, else to a new one on a random host in the network.
 */
final class LocalRandomEngines implements EnginePlacer {
  @Override
  public void place(Engines engines, Topology topology, HostUse use, RandomGenerator random) {
    List<List<Integer>> open = new ArrayList<>();
    for (int group = 0; group < topology.groupCount(); group++) {
      open.add(new ArrayList<>());
    }
    for (int source = 0; source < engines.sources.host().length; source++) {
      int[] groups = topology.groupsOf(topology.edgeOf(engines.sources.host()[source]));
      boolean all = false;
      while (!all) {
        int engine = local(engines, open, groups, source);
        if (engine < 0) {
          engine = engines.start(use.random(engines.kind.need(), random));
          for (int group : topology.groupsOf(topology.edgeOf(engines.host(engine)))) {
            open.get(group).add(engine);
          }
        }
        all = engines.read(engine, source);
      }
    }
  }

  private static int local(Engines engines, List<List<Integer>> open, int[] groups, int source) {
    for (int group : groups) {
      open.get(group).removeIf(engine -> engines.room(engine) == 0);
      for (int engine : open.get(group)) {
        if (engines.accepts(engine, source)) {
          return engine;
        }
      }
    }
    return -1;
  }
}
