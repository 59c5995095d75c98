package io.tapline.control.diagnose;

import io.tapline.control.diagnose.LossReport.Finding;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Turns findings into sentences. */
final class Verdicts {
  private static final double NS_PER_MS = 1e6;

  private Verdicts() {}

  static List<String> of(List<Finding> findings, boolean noRetransmissions) {
    if (noRetransmissions) {
      return List.of("no fault: no flow retransmits");
    }
    if (findings.isEmpty()) {
      return List.of(
          "flows retransmit, but the place is unknown: segments arrived twice, or the headers have no telemetry");
    }
    List<String> sentences = new ArrayList<>();
    findings.forEach(finding -> sentences.add(of(finding)));
    return sentences;
  }

  private static String of(Finding finding) {
    String place = place(finding);
    long victims = finding.flows().stream().filter(flow -> flow.losses() > 0).count();
    return switch (finding.cause()) {
      case CONTENTION_OF_EQUALS ->
          "%s loses %,d segments of %s: %s of the same priority need more than the link's capacity"
              .formatted(place, finding.losses(), count(victims), count(finding.flows().size()));
      case YIELDS_TO_PRIORITY ->
          "%s loses %,d segments of %s because of flows of higher priority: %s"
              .formatted(place, finding.losses(), count(victims), higher(finding));
      case PERIODIC_FAULT ->
          String.format(
              Locale.ROOT,
              "%s loses segments every %.1f ms (σ %.1f ms, %d times) although the queue has room: a fault",
              place,
              finding.intervals().meanNs() / NS_PER_MS,
              finding.intervals().deviationNs() / NS_PER_MS,
              finding.intervals().episodes());
      case FAULT ->
          "%s loses %,d segments of %s although the queue has room: a fault"
              .formatted(place, finding.losses(), count(victims));
    };
  }

  private static String place(Finding finding) {
    String switches =
        finding.switches().stream().map(String::valueOf).collect(Collectors.joining(", "));
    if (finding.switches().size() != 1) {
      return "one of the switches " + switches;
    }
    return finding.next() == 0
        ? "switch " + switches
        : "switch " + switches + ", towards " + finding.next() + ",";
  }

  private static String count(long flows) {
    return flows == 1 ? "1 flow" : flows + " flows";
  }

  private static String higher(Finding finding) {
    int loser =
        finding.flows().stream()
            .filter(flow -> flow.losses() > 0)
            .mapToInt(LossReport.Contender::priority)
            .min()
            .orElse(0);
    return finding.flows().stream()
        .filter(flow -> flow.priority() > loser)
        .map(flow -> flow.flow().text())
        .collect(Collectors.joining(", "));
  }
}
