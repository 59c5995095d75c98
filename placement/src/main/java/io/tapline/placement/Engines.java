package io.tapline.placement;

import io.tapline.network.Resources;
import java.util.ArrayList;
import java.util.List;

/**
 * Aggregators or processors during their placement. Not thread-safe.
 *
 * <p>Their sources are the processes that write to them: monitors write to aggregators, aggregators
 * to processors.
 */
final class Engines {
  /**
   * The kind of engine: aggregator or processor.
   *
   * @param divisible whether several engines may share a source's output
   */
  record Kind(String name, long capacityBps, Resources need, boolean divisible) {
    static Kind aggregators(Sizes sizes) {
      return new Kind("aggregator", sizes.aggregatorBps(), sizes.aggregator(), false);
    }

    static Kind processors(Sizes sizes) {
      return new Kind("processor", sizes.processorBps(), sizes.processor(), true);
    }
  }

  /** Hosts and output rates of the sources. */
  record Sources(int[] host, long[] bps) {
    static Sources monitors(List<Layout.Process> monitors, Sizes sizes) {
      return new Sources(
          monitors.stream().mapToInt(Layout.Process::host).toArray(),
          monitors.stream().mapToLong(m -> sizes.extractedBps(m.inputBps())).toArray());
    }

    static Sources aggregators(List<Layout.Process> aggregators) {
      return new Sources(
          aggregators.stream().mapToInt(Layout.Process::host).toArray(),
          aggregators.stream().mapToLong(Layout.Process::inputBps).toArray());
    }
  }

  /** The rate at which an engine reads from a source. */
  record Reading(int source, int engine, long bps) {}

  final Kind kind;
  final Sources sources;
  private final HostUse use;
  private final List<Integer> hosts = new ArrayList<>();
  private final List<Long> input = new ArrayList<>();
  private final List<Reading> readings = new ArrayList<>();
  private final long[] unread;

  Engines(Kind kind, Sources sources, HostUse use) {
    this.kind = kind;
    this.sources = sources;
    this.use = use;
    this.unread = sources.bps().clone();
  }

  int count() {
    return hosts.size();
  }

  int host(int engine) {
    return hosts.get(engine);
  }

  /** Starts an engine on a host; throws if the host is -1. */
  int start(int host) {
    HostUse.required(host, kind.name(), kind.need());
    use.take(host, kind.need());
    hosts.add(host);
    input.add(0L);
    return hosts.size() - 1;
  }

  long room(int engine) {
    return kind.capacityBps() - input.get(engine);
  }

  /** Returns true if the engine can take the source or, if sources are divisible, a part of it. */
  boolean accepts(int engine, int source) {
    return kind.divisible()
        ? room(engine) > 0 || unread[source] == 0
        : room(engine) >= unread[source];
  }

  /**
   * Makes the engine read as much of the source as it can; returns true if the source is read
   * completely.
   */
  boolean read(int engine, int source) {
    long bps = Math.min(unread[source], room(engine));
    input.set(engine, input.get(engine) + bps);
    unread[source] -= bps;
    readings.add(new Reading(source, engine, bps));
    return unread[source] == 0;
  }

  List<Layout.Process> processes() {
    List<Layout.Process> processes = new ArrayList<>();
    for (int engine = 0; engine < hosts.size(); engine++) {
      processes.add(new Layout.Process(hosts.get(engine), input.get(engine)));
    }
    return processes;
  }

  /** Returns the engine of each source. REQUIRES: sources are not divisible and all are read. */
  int[] engineOfSource() {
    int[] engines = new int[sources.host().length];
    readings.forEach(reading -> engines[reading.source()] = reading.engine());
    return engines;
  }

  List<Layout.Stream> streams() {
    return readings.stream().map(r -> new Layout.Stream(r.source(), r.engine(), r.bps())).toList();
  }
}
