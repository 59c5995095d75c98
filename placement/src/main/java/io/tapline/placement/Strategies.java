package io.tapline.placement;

/** The strategies by name. */
public final class Strategies {
  /** Random monitors, local-random engines. */
  public static final Strategy LOCAL_RANDOM =
      new PaperStrategy(new PaperMonitors(PaperMonitors.Pick.RANDOM), new LocalRandomEngines());

  /** Random monitors, first-fit engines. */
  public static final Strategy NETALYTICS_NODE =
      new PaperStrategy(new PaperMonitors(PaperMonitors.Pick.RANDOM), new FirstFitEngines());

  /** Greedy monitors, greedy engines. */
  public static final Strategy NETALYTICS_NETWORK =
      new PaperStrategy(new PaperMonitors(PaperMonitors.Pick.MAX_FLOWS), new GreedyEngines());

  /** No more traffic than Netalytics-Network by any measure, with as few processes as possible. */
  public static final Strategy TAPLINE_NODE = new Dominating(Dominating.Aim.FEWEST_PROCESSES);

  /**
   * Fewer processes than Netalytics-Network, with as little traffic as possible; the same number if
   * no layout with fewer processes and no more traffic is found.
   */
  public static final Strategy TAPLINE_NETWORK = new Dominating(Dominating.Aim.LEAST_TRAFFIC);

  private Strategies() {}
}
