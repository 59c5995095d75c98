package io.tapline.compiler.network;

import io.tapline.placement.Layout;
import io.tapline.schema.proto.Leader;
import io.tapline.schema.proto.Stream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Moves a query's aggregators and processors in a plan to the hosts that run its brokers and task
 * managers, and computes the resulting cost. Other queries' processes stay as planned.
 */
public final class StreamLayout {
  private final NetworkPlan plan;
  private final Layout before;
  private final int[] aggregatorOfMonitor;
  private final List<Layout.Process> aggregators = new ArrayList<>();
  private final List<Layout.Stream> streams = new ArrayList<>();
  private final List<Layout.Process> processors = new ArrayList<>();

  private StreamLayout(NetworkPlan plan) {
    this.plan = plan;
    this.before = plan.layout();
    this.aggregatorOfMonitor = before.aggregatorOfMonitor().clone();
  }

  /**
   * Returns the plan for the chosen stream.
   *
   * @return the same plan unless the network's hosts run the leaders of all of the stream's
   *     partitions and at least one task manager
   */
  public static NetworkPlan of(NetworkPlan plan, Stream stream) {
    List<String> writers = List.copyOf(plan.parts().keySet());
    boolean isKnown =
        stream.getLeadersCount() == writers.size()
            && stream.getHostsCount() > 0
            && stream.getLeadersList().stream().noneMatch(leader -> leader.getHost().isEmpty());
    return isKnown ? new StreamLayout(plan).with(stream, writers) : plan;
  }

  private NetworkPlan with(Stream stream, List<String> writers) {
    Map<String, List<Integer>> ownOfLeader = new LinkedHashMap<>();
    boolean[] own = new boolean[aggregatorOfMonitor.length];
    for (int m = 0; m < own.length; m++) {
      int partition = writers.indexOf(plan.hostName(before.monitors().get(m)));
      own[m] = plan.ownMonitors().contains(plan.monitorIds().get(m)) && partition >= 0;
      if (own[m]) {
        Leader leader = stream.getLeaders(partition);
        ownOfLeader.computeIfAbsent(leader.getHost(), ignored -> new ArrayList<>()).add(m);
      }
    }
    keepOthers(own);
    int firstProcessor = processors.size();
    long all = ownOfLeader.values().stream().flatMap(List::stream).mapToLong(this::tuplesBps).sum();
    int hosts = stream.getHostsCount();
    stream
        .getHostsList()
        .forEach(
            host -> processors.add(new Layout.Process(plan.network().number(host), all / hosts)));
    ownOfLeader.forEach(
        (host, monitors) -> {
          long bps = monitors.stream().mapToLong(this::tuplesBps).sum();
          monitors.forEach(m -> aggregatorOfMonitor[m] = aggregators.size());
          for (int p = 0; p < hosts; p++) {
            streams.add(new Layout.Stream(aggregators.size(), firstProcessor + p, bps / hosts));
          }
          aggregators.add(new Layout.Process(plan.network().number(host), bps));
        });
    return plan.with(
        new Layout(
            before.monitorOfFlow(),
            before.monitors(),
            aggregatorOfMonitor,
            aggregators,
            streams,
            processors));
  }

  private long tuplesBps(int monitor) {
    return plan.problem().sizes().extractedBps(before.monitors().get(monitor).inputBps());
  }

  /**
   * Keeps the aggregators of other queries' monitors, with their share of the processors' input.
   */
  private void keepOthers(boolean[] own) {
    Map<Integer, Integer> processorNumbers = new LinkedHashMap<>();
    long[] inputs = new long[before.processors().size()];
    for (int a = 0; a < before.aggregators().size(); a++) {
      long kept = 0;
      for (int m = 0; m < own.length; m++) {
        if (!own[m] && before.aggregatorOfMonitor()[m] == a) {
          kept += tuplesBps(m);
          aggregatorOfMonitor[m] = aggregators.size();
        }
      }
      if (kept == 0) {
        continue;
      }
      Layout.Process process = before.aggregators().get(a);
      double share = Math.min(1, (double) kept / process.inputBps());
      for (Layout.Stream stream : before.streams()) {
        if (stream.aggregator() == a) {
          long bps = (long) (stream.bps() * share);
          int number =
              processorNumbers.computeIfAbsent(stream.processor(), p -> processorNumbers.size());
          inputs[stream.processor()] += bps;
          streams.add(new Layout.Stream(aggregators.size(), number, bps));
        }
      }
      aggregators.add(new Layout.Process(process.host(), kept));
    }
    processorNumbers
        .keySet()
        .forEach(
            p -> processors.add(new Layout.Process(before.processors().get(p).host(), inputs[p])));
  }
}
