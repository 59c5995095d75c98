package io.tapline.placement;

import java.util.random.RandomGenerator;

/** Places monitors by one algorithm, then aggregators and processors by another. */
record PaperStrategy(MonitorPlacer monitorPlacer, EnginePlacer enginePlacer) implements Strategy {
  @Override
  public Layout place(Problem problem, RandomGenerator random) {
    HostUse use = new HostUse(problem.topology());
    MonitorPlacer.Monitors monitors = monitorPlacer.place(problem, use, random);
    return engines(problem, monitors, use, random);
  }

  private Layout engines(
      Problem problem, MonitorPlacer.Monitors monitors, HostUse use, RandomGenerator random) {
    Sizes sizes = problem.sizes();
    Engines aggregators =
        new Engines(
            Engines.Kind.aggregators(sizes),
            Engines.Sources.monitors(monitors.monitors(), sizes),
            use);
    enginePlacer.place(aggregators, problem.topology(), use, random);
    Engines processors =
        new Engines(
            Engines.Kind.processors(sizes),
            Engines.Sources.aggregators(aggregators.processes()),
            use);
    enginePlacer.place(processors, problem.topology(), use, random);
    return new Layout(
        monitors.monitorOfFlow(),
        monitors.monitors(),
        aggregators.engineOfSource(),
        aggregators.processes(),
        processors.streams(),
        processors.processes());
  }
}
