package io.tapline.placement;

import java.util.List;

/**
 * Where everything runs and which data goes where.
 *
 * @param monitorOfFlow by flow
 * @param monitors each under an edge switch that covers all of its flows
 * @param aggregatorOfMonitor by monitor: a monitor writes to one aggregator
 * @param streams what processors read: an aggregator's output may be divided among several
 */
public record Layout(
    int[] monitorOfFlow,
    List<Process> monitors,
    int[] aggregatorOfMonitor,
    List<Process> aggregators,
    List<Stream> streams,
    List<Process> processors) {

  /**
   * One process.
   *
   * @param inputBps what it takes in
   */
  public record Process(int host, long inputBps) {}

  /** What one processor reads of one aggregator. */
  public record Stream(int aggregator, int processor, long bps) {}

  public Layout {
    monitors = List.copyOf(monitors);
    aggregators = List.copyOf(aggregators);
    streams = List.copyOf(streams);
    processors = List.copyOf(processors);
  }

  /** The paper's resource cost (6.2). */
  public int processes() {
    return monitors.size() + aggregators.size() + processors.size();
  }
}
