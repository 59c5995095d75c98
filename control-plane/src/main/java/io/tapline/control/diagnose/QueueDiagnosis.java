package io.tapline.control.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Determines which flows filled a queue, from the events of the parser {@code queue_burst}: one
 * event for each of the largest culprits of a burst. If several queries have measured a burst, the
 * one with the most victims is reported.
 */
public final class QueueDiagnosis {
  /** Maximum number of bursts in a report; the earliest ones are dropped. */
  static final int MOST_BURSTS = 1000;

  /** Minimum share at which a flow or receiver counts as the only cause. */
  private static final double MAIN_SHARE = 0.5;

  private final String queue;
  private final long fromNs;
  private final long toNs;
  private final Set<String> queries = new LinkedHashSet<>();
  private final TreeMap<Long, Map<String, QueueReport.Burst>> bursts = new TreeMap<>();
  private boolean incomplete;

  /**
   * Creates a diagnosis without events.
   *
   * @param queue name of the queue for users
   * @param toNs 0 for no end
   */
  public QueueDiagnosis(String queue, long fromNs, long toNs) {
    this.queue = queue;
    this.fromNs = fromNs;
    this.toNs = toNs == 0 ? Long.MAX_VALUE : toNs;
  }

  /** Adds a query that measured the queue. */
  public void addQuery(String query) {
    queries.add(query);
  }

  /**
   * Adds an event of this queue that a query has reported, in the format of {@code
   * schema/redis.md}.
   */
  public void add(String query, JsonNode event) {
    JsonNode fields = event.path("fields");
    long begin = fields.path("begin_ns").asLong();
    long end = begin + fields.path("duration_ns").asLong();
    if (end < fromNs || begin > toNs) {
      return;
    }
    Map<String, QueueReport.Burst> same = bursts.computeIfAbsent(begin, any -> new HashMap<>());
    QueueReport.Burst burst = same.computeIfAbsent(query, any -> burst(begin, end, fields));
    burst.culprits().add(culprit(event, fields));
    if (bursts.size() > MOST_BURSTS) {
      bursts.pollFirstEntry();
      incomplete = true;
    }
  }

  private static QueueReport.Burst burst(long begin, long end, JsonNode fields) {
    return new QueueReport.Burst(
        begin,
        end,
        fields.path("delay_ns").asLong(),
        fields.path("peak_bytes").asLong(),
        fields.path("burst_packets").asLong(),
        fields.path("burst_bytes").asLong(),
        fields.path("victims").asLong(),
        fields.path("burst_flows").asLong(),
        fields.path("lost").asLong(),
        new ArrayList<>());
  }

  /**
   * Returns a flow in the direction of its packets: the source of an event is the client, which may
   * have received them.
   */
  private static QueueReport.Culprit culprit(JsonNode event, JsonNode fields) {
    String client = endpoint(event.path("src_ip").asText(), event.path("src_port").asInt());
    String server = endpoint(event.path("dst_ip").asText(), event.path("dst_port").asInt());
    boolean fromClient = fields.path("from_client").asBoolean(true);
    return new QueueReport.Culprit(
        fromClient ? client : server,
        fromClient ? server : client,
        fields.path("share").asDouble(),
        fields.path("direct_bytes").asLong(),
        fields.path("indirect_bytes").asLong(),
        fields.path("original_bytes").asLong());
  }

  private static String endpoint(String address, int port) {
    return (address.contains(":") ? "[" + address + "]" : address) + ":" + port;
  }

  /** Returns the bursts so far. */
  public QueueReport report() {
    List<QueueReport.Burst> found = new ArrayList<>();
    for (Map<String, QueueReport.Burst> same : bursts.values()) {
      QueueReport.Burst burst =
          same.values().stream()
              .max(Comparator.comparingLong(QueueReport.Burst::victims))
              .orElseThrow();
      burst.culprits().sort(Comparator.comparingDouble(QueueReport.Culprit::share).reversed());
      found.add(burst);
    }
    return new QueueReport(queue, List.copyOf(queries), found, incomplete, verdict(found));
  }

  private List<String> verdict(List<QueueReport.Burst> found) {
    if (found.isEmpty()) {
      return List.of(
          "no burst at %s: no packet waited for the delay of the queries".formatted(queue));
    }
    QueueReport.Burst worst =
        found.stream().max(Comparator.comparingLong(QueueReport.Burst::delayNs)).orElseThrow();
    long victims = found.stream().mapToLong(QueueReport.Burst::victims).sum();
    long lost = found.stream().mapToLong(QueueReport.Burst::lost).sum();
    List<String> verdict = new ArrayList<>();
    verdict.add(
        "%s at %s: packets waited up to %s, %s at least the delay of the queries"
            .formatted(
                found.size() == 1 ? "1 burst" : "%,d bursts".formatted(found.size()),
                queue,
                ms(worst.delayNs()),
                count(victims, "packet")));
    verdict.add(
        "in the worst burst, at %s, %s"
            .formatted(
                Instant.EPOCH.plusNanos(worst.beginNs()).toString().replace("Z", " UTC"),
                cause(worst)));
    if (lost > 0) {
      verdict.add(
          "%s arrived and never left: dropped by the queue, sent to another port, or not captured"
              .formatted(count(lost, "packet")));
    }
    return verdict;
  }

  private static String cause(QueueReport.Burst burst) {
    QueueReport.Culprit largest = burst.culprits().get(0);
    if (largest.share() >= MAIN_SHARE) {
      return "one flow filled the queue: %s had %s of the bytes ahead of waiting packets"
          .formatted(largest.flow(), percent(largest.share()));
    }
    Map<String, Double> receivers = new TreeMap<>();
    Map<String, Integer> senders = new HashMap<>();
    for (QueueReport.Culprit culprit : burst.culprits()) {
      receivers.merge(culprit.receiver(), culprit.share(), Double::sum);
      senders.merge(culprit.receiver(), 1, Integer::sum);
    }
    Map.Entry<String, Double> most =
        receivers.entrySet().stream().max(Map.Entry.comparingByValue()).orElseThrow();
    return most.getValue() >= MAIN_SHARE
        ? "%d flows to %s filled the queue together (incast): %s of the bytes ahead of waiting packets"
            .formatted(senders.get(most.getKey()), most.getKey(), percent(most.getValue()))
        : "%s shared the queue, none with more than %s: their sum exceeded the port's rate"
            .formatted(count(burst.flows(), "flow"), percent(largest.share()));
  }

  private static String count(long number, String what) {
    return String.format(Locale.ROOT, "%,d %s%s", number, what, number == 1 ? "" : "s");
  }

  private static String ms(long ns) {
    return String.format(Locale.ROOT, "%.3g ms", ns / 1e6);
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.0f %%", 100 * share);
  }
}
