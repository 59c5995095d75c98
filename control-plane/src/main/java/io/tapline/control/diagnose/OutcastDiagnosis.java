package io.tapline.control.diagnose;

import io.tapline.control.diagnose.OutcastReport.Flow;
import io.tapline.control.diagnose.OutcastReport.Link;
import io.tapline.control.diagnose.OutcastReport.Step;
import io.tapline.control.drill.DrillException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Detects TCP outcast (§5.2; Prakash et al., NSDI'12): flows over fewer switches get a smaller
 * share of the last link than the many flows that arrive through another port.
 */
final class OutcastDiagnosis {
  /**
   * Minimum fair ratio between the mean segments per flow over the fewest switches and over the
   * most.
   */
  private static final double FAIR = 0.6;

  private static final int MAX_HOPS = 8;
  private static final double NS_PER_S = 1e9;

  private final Headers all;
  private final String filter;
  private final String stored;
  private final long fromNs;
  private final long toNs;
  private final long everyNs;

  /**
   * Creates a diagnosis of the traffic to one host in one span.
   *
   * @param stored the nodes' filter for retransmissions; null if the nodes don't track
   *     retransmissions
   */
  OutcastDiagnosis(
      Headers all, String destination, String stored, long fromNs, long toNs, long everyNs) {
    this.all = all.within(fromNs, toNs);
    this.filter = Headers.DATA + " && dst_ip == " + destination;
    this.stored = stored;
    this.fromNs = fromNs;
    this.toNs = toNs;
    this.everyNs = everyNs;
  }

  OutcastReport run() throws DrillException {
    Map<FlowKey, Integer> hops = new LinkedHashMap<>();
    for (Map.Entry<FlowKey, Double> flow : all.byFlow(filter, "MAX(hops)").entrySet()) {
      hops.put(flow.getKey(), flow.getValue().intValue());
    }
    Map<FlowKey, Double> segments = new LinkedHashMap<>();
    List<Step> steps = new ArrayList<>();
    for (long begin = fromNs; begin < toNs && !hops.isEmpty(); begin += everyNs) {
      long end = Math.min(begin + everyNs, toNs);
      all.within(begin, end - 1)
          .byFlow(filter, "COUNT")
          .forEach((flow, count) -> segments.merge(flow, count, Double::sum));
      steps.add(step(end, segments, hops));
    }
    List<Flow> flows = flows(segments, hops);
    boolean isOutcast = isOutcast(segments, hops);
    return new OutcastReport(
        all.view().nodes(),
        all.view().missing(),
        fromNs,
        toNs,
        isOutcast,
        steps,
        flows,
        hops.isEmpty() ? List.of() : links(hops.values().stream().max(Integer::compare).get()),
        List.of(verdict(isOutcast, segments, hops)));
  }

  /** Returns the mean number of segments per flow, by the number of switches on the path. */
  private static TreeMap<Integer, Double> means(
      Map<FlowKey, Double> segments, Map<FlowKey, Integer> hops) {
    return hops.entrySet().stream()
        .collect(
            Collectors.groupingBy(
                Map.Entry::getValue,
                TreeMap::new,
                Collectors.averagingDouble(flow -> segments.getOrDefault(flow.getKey(), 0.0))));
  }

  private static Step step(long end, Map<FlowKey, Double> segments, Map<FlowKey, Integer> hops) {
    double max = 0;
    double min = Double.MAX_VALUE;
    for (FlowKey flow : hops.keySet()) {
      max = Math.max(max, segments.getOrDefault(flow, 0.0));
      min = Math.min(min, segments.getOrDefault(flow, 0.0));
    }
    return new Step(end, ratio(means(segments, hops)), max == 0 ? 1 : min / max);
  }

  private static double ratio(TreeMap<Integer, Double> means) {
    double max = means.values().stream().max(Double::compare).orElse(0.0);
    return max == 0 ? 1 : means.firstEntry().getValue() / max;
  }

  /**
   * Returns true if the flows with the shortest path get far fewer segments than those with the
   * longest.
   */
  private static boolean isOutcast(Map<FlowKey, Double> segments, Map<FlowKey, Integer> hops) {
    TreeMap<Integer, Double> means = means(segments, hops);
    return means.size() > 1 && means.firstEntry().getValue() < FAIR * means.lastEntry().getValue();
  }

  private List<Flow> flows(Map<FlowKey, Double> segments, Map<FlowKey, Integer> hops)
      throws DrillException {
    Map<FlowKey, Double> bytes = all.byFlow(filter, "SUM(payload_bytes)");
    Map<FlowKey, Long> repeats = new LinkedHashMap<>();
    if (stored != null) {
      all.segments(filter, stored).forEach(segment -> repeats.merge(segment.flow(), 1L, Long::sum));
    }
    List<Flow> flows = new ArrayList<>();
    hops.forEach(
        (flow, count) ->
            flows.add(
                new Flow(
                    flow,
                    count,
                    segments.getOrDefault(flow, 0.0).longValue(),
                    repeats.getOrDefault(flow, 0L),
                    bytes.getOrDefault(flow, 0.0) * 8 * NS_PER_S / (toNs - fromNs))));
    flows.sort(Comparator.comparingLong(Flow::segments));
    return flows;
  }

  private List<Link> links(int longest) throws DrillException {
    Map<List<Integer>, Long> counts = new TreeMap<>(Comparator.comparing(List::toString));
    for (int i = 0; i < Math.min(longest, MAX_HOPS); i++) {
      boolean isLast = i + 1 == Math.min(longest, MAX_HOPS);
      List<String> pair =
          isLast ? List.of("path[" + i + "]") : List.of("path[" + i + "]", "path[" + (i + 1) + "]");
      String passed = filter + " && hops > " + i;
      for (Map.Entry<List<String>, Double> group : all.numbers(passed, "COUNT", pair).entrySet()) {
        List<String> switches = group.getKey();
        if (!switches.isEmpty()) {
          int neighbour = isLast ? 0 : Integer.parseInt(switches.get(1));
          counts.merge(
              List.of(Integer.parseInt(switches.get(0)), neighbour),
              group.getValue().longValue(),
              Long::sum);
        }
      }
    }
    return counts.entrySet().stream()
        .map(entry -> new Link(entry.getKey().get(0), entry.getKey().get(1), entry.getValue()))
        .toList();
  }

  private static String verdict(
      boolean isOutcast, Map<FlowKey, Double> segments, Map<FlowKey, Integer> hops) {
    if (hops.isEmpty()) {
      return "no result: the host received no segment with telemetry";
    }
    TreeMap<Integer, Double> means = means(segments, hops);
    String shares =
        means.entrySet().stream()
            .map(entry -> "%,.0f over %d".formatted(entry.getValue(), entry.getKey()))
            .collect(Collectors.joining(", "));
    return isOutcast
        ? "TCP outcast: flows over the fewest switches get the fewest segments (per flow: "
            + shares
            + " switches)"
        : "no outcast (segments per flow: " + shares + " switches)";
  }
}
