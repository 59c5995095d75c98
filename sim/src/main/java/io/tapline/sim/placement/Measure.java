package io.tapline.sim.placement;

import io.tapline.placement.Cost;

/** Measures of a layout. Traffic is a percentage of the whole workload's traffic. */
public enum Measure {
  /**
   * Figure 7: traffic from monitors to aggregators times hops, divided by the workload's traffic.
   */
  BANDWIDTH("bandwidth_percent"),
  /**
   * Figure 7: traffic from monitors to aggregators times weights, divided by the workload's
   * traffic.
   */
  WEIGHTED("weighted_percent"),
  /** Like BANDWIDTH, divided by the workload's traffic times its own hops. */
  BANDWIDTH_PER_HOP("bandwidth_per_hop_percent"),
  /** Like WEIGHTED, divided by the workload's traffic times its own weights. */
  WEIGHTED_PER_WEIGHT("weighted_per_weight_percent"),
  /** Like BANDWIDTH, including traffic from aggregators to processors. */
  PROCESSOR_BANDWIDTH("processor_bandwidth_percent"),
  /** Like WEIGHTED, including traffic from aggregators to processors. */
  PROCESSOR_WEIGHTED("processor_weighted_percent"),
  /** Figure 8: number of processes. */
  PROCESSES("processes");

  /** The column name. */
  public final String label;

  Measure(String label) {
    this.label = label;
  }

  double of(Cost cost, Cost.Workload all) {
    return switch (this) {
      case BANDWIDTH -> 100.0 * cost.hops() / all.raw();
      case WEIGHTED -> 100.0 * cost.weighted() / all.raw();
      case BANDWIDTH_PER_HOP -> 100.0 * cost.hops() / all.hops();
      case WEIGHTED_PER_WEIGHT -> 100.0 * cost.weighted() / all.weighted();
      case PROCESSOR_BANDWIDTH -> 100.0 * cost.processorHops() / all.raw();
      case PROCESSOR_WEIGHTED -> 100.0 * cost.processorWeighted() / all.raw();
      case PROCESSES -> cost.processes();
    };
  }
}
