package io.tapline.placement;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The processes of a {@link Deployment}, by numbers that do not change while they run. Only {@link
 * Reshaping} modifies an instance, and only its own copy.
 */
final class Running {
  /** A monitor and the aggregator that it writes to. */
  record Monitor(int host, long inputBps, int aggregator) {}

  /**
   * An aggregator.
   *
   * @param readers rate at which each processor reads from it, by the processor's number
   */
  record Aggregator(int host, long inputBps, Map<Integer, Long> readers) {}

  final Map<Integer, Monitor> monitors = new TreeMap<>();
  final Map<Integer, Aggregator> aggregators = new TreeMap<>();
  final Map<Integer, Layout.Process> processors = new TreeMap<>();
  int next = 0;

  Running() {}

  Running(Running other) {
    monitors.putAll(other.monitors);
    aggregators.putAll(other.aggregators);
    processors.putAll(other.processors);
    next = other.next;
  }

  int processes() {
    return monitors.size() + aggregators.size() + processors.size();
  }

  Layout layout(int[] monitorOfFlow) {
    Map<Integer, Integer> monitor = positions(monitors);
    Map<Integer, Integer> aggregator = positions(aggregators);
    Map<Integer, Integer> processor = positions(processors);
    int[] runningMonitors = new int[monitorOfFlow.length];
    for (int flow = 0; flow < runningMonitors.length; flow++) {
      runningMonitors[flow] = monitor.get(monitorOfFlow[flow]);
    }
    List<Layout.Stream> streams = new ArrayList<>();
    aggregators.forEach(
        (number, host) ->
            host.readers()
                .forEach(
                    (reader, bps) ->
                        streams.add(
                            new Layout.Stream(
                                aggregator.get(number), processor.get(reader), bps))));
    return new Layout(
        runningMonitors,
        monitors.values().stream().map(m -> new Layout.Process(m.host(), m.inputBps())).toList(),
        monitors.values().stream().mapToInt(m -> aggregator.get(m.aggregator())).toArray(),
        aggregators.values().stream().map(a -> new Layout.Process(a.host(), a.inputBps())).toList(),
        streams,
        List.copyOf(processors.values()));
  }

  private static Map<Integer, Integer> positions(Map<Integer, ?> byNumber) {
    Map<Integer, Integer> positions = new TreeMap<>();
    byNumber.keySet().forEach(number -> positions.put(number, positions.size()));
    return positions;
  }
}
