package io.tapline.placement;

import io.tapline.network.Resources;

/**
 * Capacities and resource needs of processes.
 *
 * @param monitorBps maximum rate of packets to a monitor
 * @param aggregatorBps maximum rate of tuples to an aggregator
 * @param processorBps maximum rate of tuples to a processor
 * @param extractedPerMille output of a monitor, in thousandths of its input
 */
public record Sizes(
    long monitorBps,
    long aggregatorBps,
    long processorBps,
    int extractedPerMille,
    Resources monitor,
    Resources aggregator,
    Resources processor) {
  /**
   * The paper's sizes (6.2): a monitor takes 10 Gb/s and emits a tenth; an aggregator with two
   * processors takes 1 Gb/s. The needs follow from the paper's abstract: 40 Gb/s took 4 cores for
   * monitoring, and 15 cores for work that corresponds to 4 aggregators and 8 processors. So a
   * monitor needs 1 CPU, and another for its collector; other processes need 1.25 CPUs. Aggregators
   * keep their logs in memory (6.1). A monitor uses a 10 Gb/s NIC completely.
   */
  public static final Sizes PAPER =
      new Sizes(
          10_000_000_000L,
          1_000_000_000L,
          500_000_000L,
          100,
          new Resources(2000, 4 * 1024, 10_000_000_000L),
          new Resources(1250, 8 * 1024, 0),
          new Resources(1250, 4 * 1024, 0));

  public Sizes {
    if (monitorBps <= 0 || aggregatorBps <= 0 || processorBps <= 0) {
      throw new IllegalArgumentException("every process needs a positive capacity");
    }
    if (extractedPerMille < 0 || extractedPerMille > 1000) {
      throw new IllegalArgumentException(
          "a monitor's output must be 0 to 1000 per mille of its input");
    }
    if (Math.multiplyHigh(monitorBps, extractedPerMille) != 0
        || monitorBps * extractedPerMille / 1000 > aggregatorBps) {
      throw new IllegalArgumentException(
          "an aggregator must be able to process the output of a monitor");
    }
  }

  /** Returns the output of a monitor for this input, in bits per second. */
  public long extractedBps(long inputBps) {
    return inputBps / 1000 * extractedPerMille + inputBps % 1000 * extractedPerMille / 1000;
  }
}
