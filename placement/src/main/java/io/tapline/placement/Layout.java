package io.tapline.placement;

import java.util.List;

/**
 * The hosts of all processes and the data that they exchange.
 *
 * @param monitorOfFlow index of each flow's monitor
 * @param monitors monitors, each under an edge switch that covers all its flows
 * @param aggregatorOfMonitor index of the aggregator that each monitor writes to
 * @param streams input of processors; several processors may share an aggregator's output
 */
public record Layout(
    int[] monitorOfFlow,
    List<Process> monitors,
    int[] aggregatorOfMonitor,
    List<Process> aggregators,
    List<Stream> streams,
    List<Process> processors) {

  /** A process, identified by its index in the layout's list of its kind. */
  public record Process(int host, long inputBps) {}

  /** One processor's input from one aggregator. */
  public record Stream(int aggregator, int processor, long bps) {}

  public Layout {
    monitors = List.copyOf(monitors);
    aggregators = List.copyOf(aggregators);
    streams = List.copyOf(streams);
    processors = List.copyOf(processors);
  }

  /** Returns the number of processes, the paper's resource cost (6.2). */
  public int processes() {
    return monitors.size() + aggregators.size() + processors.size();
  }
}
