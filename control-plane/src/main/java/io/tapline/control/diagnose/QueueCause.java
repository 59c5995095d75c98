package io.tapline.control.diagnose;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Describes the cause of a burst and the flows that it delayed. */
final class QueueCause {
  /** Minimum share at which a flow, a receiver or a few flows count as the cause. */
  private static final double MAIN_SHARE = 0.5;

  private QueueCause() {}

  /** Returns the flows that filled the queue, as a clause. */
  static String of(QueueReport.Burst burst) {
    QueueReport.Culprit largest = burst.culprits().get(0);
    if (largest.share() >= MAIN_SHARE && largest.isFromAll()) {
      return "packets from all senders to %s filled the queue: they had %s of the bytes ahead of waiting packets"
          .formatted(largest.receiver(), percent(largest.share()));
    }
    if (largest.share() >= MAIN_SHARE) {
      return "one flow filled the queue: %s had %s of the bytes ahead of waiting packets"
          .formatted(largest.flow(), percent(largest.share()));
    }
    Map<String, Double> receivers = new TreeMap<>();
    Map<String, Integer> senders = new HashMap<>();
    for (QueueReport.Culprit culprit : main(burst)) {
      receivers.merge(culprit.receiver(), culprit.share(), Double::sum);
      senders.merge(culprit.receiver(), 1, Integer::sum);
    }
    Optional<Map.Entry<String, Double>> top =
        receivers.entrySet().stream().max(Map.Entry.comparingByValue());
    if (top.isPresent() && top.get().getValue() >= MAIN_SHARE) {
      String receiver = top.get().getKey();
      return "%d flows to %s filled the queue together (incast): %s of the bytes ahead of waiting packets"
          .formatted(senders.get(receiver), receiver, percent(top.get().getValue()));
    }
    return few(burst);
  }

  /** Returns the flows that count as causes; the others have small shares and may be victims. */
  private static List<QueueReport.Culprit> main(QueueReport.Burst burst) {
    return burst.culprits().stream()
        .filter(culprit -> culprit.share() >= QueueEvents.CULPRIT_SHARE)
        .toList();
  }

  /** Returns a clause that names the main culprits, if they filled most of the queue. */
  private static String few(QueueReport.Burst burst) {
    List<QueueReport.Culprit> main = main(burst);
    double share = main.stream().mapToDouble(QueueReport.Culprit::share).sum();
    if (share >= MAIN_SHARE) {
      return "%s filled the queue together, with %s of the bytes ahead of waiting packets: %s"
          .formatted(
              count(main.size(), "flow"),
              percent(share),
              main.stream()
                  .map(culprit -> culprit.flow() + " (" + percent(culprit.share()) + ")")
                  .collect(Collectors.joining(", ")));
    }
    return "%s shared the queue, none with more than %s: together they exceeded the port's rate"
        .formatted(count(burst.flows(), "flow"), percent(burst.culprits().get(0).share()));
  }

  /**
   * Returns a sentence about the flows that were delayed by others.
   *
   * @param burst a burst with such flows
   */
  static String victims(QueueReport.Burst burst) {
    QueueReport.Victim first = burst.victimFlows().get(0);
    int furtherVictims = burst.victimFlows().size() - 1;
    return "this delayed flows that each had less than %s of the queue: %s waited longest (%s, up to %s)%s"
        .formatted(
            percent(QueueEvents.CULPRIT_SHARE),
            first.flow(),
            count(first.packets(), "packet"),
            ms(first.delayNs()),
            furtherVictims == 0 ? "" : ", and at least " + count(furtherVictims, "other"));
  }

  static String count(long number, String noun) {
    return String.format(Locale.ROOT, "%,d %s%s", number, noun, number == 1 ? "" : "s");
  }

  static String ms(long ns) {
    return String.format(Locale.ROOT, "%.3g ms", ns / 1e6);
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.0f %%", 100 * share);
  }
}
