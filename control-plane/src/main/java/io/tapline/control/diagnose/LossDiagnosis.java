package io.tapline.control.diagnose;

import io.tapline.control.diagnose.LossReport.Cause;
import io.tapline.control.diagnose.LossReport.Contender;
import io.tapline.control.diagnose.LossReport.Finding;
import io.tapline.control.diagnose.LossReport.Retransmitted;
import io.tapline.control.drill.DrillException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds where packets are lost, at one switch or at several, and which of the causes in Confluo's
 * Figure 2 applies (§5.2). Uses the retransmissions that the nodes tracked, the switches and
 * latencies in headers, and the flows that used the same link at the time.
 */
final class LossDiagnosis {
  /** Maximum number of flows that are examined: those with the most retransmissions. */
  private static final int MAX_VICTIMS = 64;

  /** Minimum share of the link's traffic for a flow of higher priority to count as the cause. */
  private static final double MIN_SHARE = 0.1;

  /**
   * Minimum ratio between the losses of a flow that yields and those of a flow that it yields to.
   */
  private static final int DOMINANCE_FACTOR = 10;

  /** A link from a switch to the next switch; {@code next} is 0 if the receiver is next. */
  private record Place(int switchId, int next, String receiver) {}

  private final Headers headers;
  private final String stored;

  /**
   * Creates a diagnosis of the state at one point in time.
   *
   * @param stored the nodes' filter for retransmissions
   */
  LossDiagnosis(Headers headers, String stored) {
    this.headers = headers;
    this.stored = stored;
  }

  LossReport run() throws DrillException {
    Map<FlowKey, List<Segment>> repeats = new LinkedHashMap<>();
    for (Segment segment : headers.segments(Headers.DATA, stored)) {
      repeats.computeIfAbsent(segment.flow(), flow -> new ArrayList<>()).add(segment);
    }
    Map<FlowKey, Double> segments = headers.byFlow(Headers.DATA, "COUNT");
    List<Finding> findings = new ArrayList<>();
    if (!repeats.isEmpty()) {
      List<LossEvent> events = events(repeats);
      findings.addAll(congested(events));
      findings.addAll(faults(events, segments, repeats));
    }
    return new LossReport(
        headers.view().nodes(),
        headers.view().missing(),
        headers.isCut(),
        retransmitted(repeats, segments),
        findings,
        Verdicts.of(findings, repeats.isEmpty()));
  }

  private static List<Retransmitted> retransmitted(
      Map<FlowKey, List<Segment>> repeats, Map<FlowKey, Double> segments) {
    List<Retransmitted> result = new ArrayList<>();
    repeats.forEach(
        (flow, rows) ->
            result.add(
                new Retransmitted(
                    flow,
                    Segment.priority(rows.get(0).tos()),
                    segments.getOrDefault(flow, 0.0).longValue(),
                    rows.size(),
                    Periodicity.of(rows.stream().map(Segment::timeNs).toList()))));
    result.sort((a, b) -> Long.compare(b.retransmissions(), a.retransmissions()));
    return result;
  }

  private List<LossEvent> events(Map<FlowKey, List<Segment>> repeats) throws DrillException {
    List<Map.Entry<FlowKey, List<Segment>>> victims =
        repeats.entrySet().stream()
            .sorted((a, b) -> Integer.compare(b.getValue().size(), a.getValue().size()))
            .limit(MAX_VICTIMS)
            .toList();
    List<LossEvent> events = new ArrayList<>();
    for (Map.Entry<FlowKey, List<Segment>> victim : victims) {
      String filter = victim.getKey().filter() + " && " + Headers.DATA;
      events.addAll(LossEvent.of(headers.segments(filter, ""), victim.getValue()));
    }
    return events;
  }

  private List<Finding> congested(List<LossEvent> events) throws DrillException {
    Map<Place, List<LossEvent>> byPlace = new LinkedHashMap<>();
    for (LossEvent event : events) {
      if (event.queued()) {
        String receiver = event.next() == 0 ? event.flow().dstIp() : "";
        byPlace
            .computeIfAbsent(
                new Place(event.switchId(), event.next(), receiver), place -> new ArrayList<>())
            .add(event);
      }
    }
    List<Finding> findings = new ArrayList<>();
    for (Map.Entry<Place, List<LossEvent>> place : byPlace.entrySet()) {
      findings.add(congested(place.getKey(), place.getValue()));
    }
    findings.sort((a, b) -> Long.compare(b.losses(), a.losses()));
    return findings;
  }

  private Finding congested(Place place, List<LossEvent> events) throws DrillException {
    long beginNs = events.stream().mapToLong(LossEvent::timeNs).min().orElse(0);
    long endNs = events.stream().mapToLong(LossEvent::timeNs).max().orElse(0);
    int longest = events.stream().mapToInt(event -> event.path().size()).max().orElse(1);
    Map<FlowKey, Long> losses = new LinkedHashMap<>();
    events.forEach(event -> losses.merge(event.flow(), 1L, Long::sum));
    List<Contender> flows = contenders(place, headers.within(beginNs, endNs), longest, losses);
    return new Finding(
        List.of(place.switchId()),
        place.next(),
        yields(flows) ? Cause.YIELDS_TO_PRIORITY : Cause.CONTENTION_OF_EQUALS,
        events.size(),
        beginNs,
        endNs,
        intervals(events),
        flows);
  }

  private static List<Contender> contenders(
      Place place, Headers concurrent, int longest, Map<FlowKey, Long> losses)
      throws DrillException {
    String filter = Headers.DATA + " && (" + link(place, longest) + ")";
    Map<FlowKey, Double> segments = concurrent.byFlow(filter, "COUNT");
    Map<FlowKey, Double> bytes = concurrent.byFlow(filter, "SUM(payload_bytes)");
    Map<FlowKey, Double> tos = concurrent.byFlow(filter, "MAX(tos)");
    List<Contender> flows = new ArrayList<>();
    bytes.forEach(
        (flow, sum) ->
            flows.add(
                new Contender(
                    flow,
                    Segment.priority(tos.getOrDefault(flow, 0.0).intValue()),
                    segments.getOrDefault(flow, 0.0).longValue(),
                    sum.longValue(),
                    losses.getOrDefault(flow, 0L))));
    return flows;
  }

  private static String link(Place place, int longest) {
    List<String> ways = new ArrayList<>();
    for (int i = 0; i < longest; i++) {
      if (place.next() == 0) {
        ways.add("path[%d] == %d && hops == %d".formatted(i, place.switchId(), i + 1));
      } else if (i + 1 < longest) {
        ways.add(
            "path[%d] == %d && path[%d] == %d".formatted(i, place.switchId(), i + 1, place.next()));
      }
    }
    String any = "(" + String.join(") || (", ways) + ")";
    return place.next() == 0 ? "(" + any + ") && dst_ip == " + place.receiver() : any;
  }

  /**
   * Returns true if the flow with the most losses has lower priority than a flow that has far fewer
   * losses and a relevant share of the traffic.
   */
  private static boolean yields(List<Contender> flows) {
    Contender top = flows.stream().max((a, b) -> Long.compare(a.losses(), b.losses())).orElse(null);
    long all = flows.stream().mapToLong(Contender::payloadBytes).sum();
    return top != null
        && flows.stream()
            .anyMatch(
                flow ->
                    flow.priority() > top.priority()
                        && flow.payloadBytes() >= MIN_SHARE * all
                        && flow.losses() * DOMINANCE_FACTOR <= top.losses());
  }

  private static Periodicity intervals(List<LossEvent> events) {
    return Periodicity.of(events.stream().map(LossEvent::timeNs).toList());
  }

  /**
   * Explains the losses that are not due to a queue. They are examined together, since one fault is
   * more likely than two.
   */
  private List<Finding> faults(
      List<LossEvent> all, Map<FlowKey, Double> segments, Map<FlowKey, List<Segment>> repeats)
      throws DrillException {
    List<LossEvent> events = all.stream().filter(event -> !event.queued()).toList();
    if (events.isEmpty()) {
      return List.of();
    }
    Map<FlowKey, Long> losses = new LinkedHashMap<>();
    events.forEach(event -> losses.merge(event.flow(), 1L, Long::sum));
    Periodicity intervals = intervals(events);
    List<Contender> flows = new ArrayList<>();
    losses.forEach(
        (flow, count) ->
            flows.add(
                new Contender(
                    flow,
                    Segment.priority(repeats.get(flow).get(0).tos()),
                    segments.getOrDefault(flow, 0.0).longValue(),
                    0,
                    count)));
    List<Integer> suspects = new Suspects(headers, segments, losses).find(events);
    return List.of(
        new Finding(
            suspects,
            0,
            intervals.isEven() ? Cause.PERIODIC_FAULT : Cause.FAULT,
            events.size(),
            events.stream().mapToLong(LossEvent::timeNs).min().orElse(0),
            events.stream().mapToLong(LossEvent::timeNs).max().orElse(0),
            intervals,
            flows));
  }
}
