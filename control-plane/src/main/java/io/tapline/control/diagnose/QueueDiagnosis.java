package io.tapline.control.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Determines which flows filled a queue, from the events of the parser {@code queue_burst}: one
 * event for each main culprit and victim of a burst. If several queries have measured a burst, the
 * measurement with the most victims is reported.
 */
public final class QueueDiagnosis {
  /** Maximum number of bursts in a report; the earliest ones are dropped. */
  static final int MAX_BURSTS = 1000;

  private final String queue;
  private final long fromNs;
  private final long toNs;
  private final Map<String, FlowUnit> queries = new LinkedHashMap<>();
  private final TreeMap<Long, Map<String, List<JsonNode>>> bursts = new TreeMap<>();
  private long completeSinceNs;

  /**
   * Creates a diagnosis without events.
   *
   * @param queue user-facing name of the queue
   * @param toNs 0 for no end
   */
  public QueueDiagnosis(String queue, long fromNs, long toNs) {
    this.queue = queue;
    this.fromNs = fromNs;
    this.toNs = toNs == 0 ? Long.MAX_VALUE : toNs;
  }

  /** Adds a query that measured the queue, by flows of this unit. */
  public void addQuery(String query, FlowUnit unit) {
    queries.put(query, unit);
  }

  /**
   * Adds an event of this queue that a query has reported, in the format of {@code
   * schema/redis.md}. The query must have been added.
   */
  public void add(String query, JsonNode event) {
    JsonNode fields = event.path("fields");
    long begin = fields.path("begin_ns").asLong();
    long end = endNs(event);
    if (end < fromNs || begin > toNs) {
      return;
    }
    bursts
        .computeIfAbsent(begin, ignored -> new HashMap<>())
        .computeIfAbsent(query, ignored -> new ArrayList<>())
        .add(event);
    if (bursts.size() > MAX_BURSTS) {
      long evictedNs =
          bursts.pollFirstEntry().getValue().values().stream()
              .mapToLong(events -> endNs(events.get(0)))
              .max()
              .orElseThrow();
      completeSince(evictedNs + 1);
    }
  }

  private static long endNs(JsonNode event) {
    JsonNode fields = event.path("fields");
    return fields.path("begin_ns").asLong() + fields.path("duration_ns").asLong();
  }

  /** Records that bursts that ended before a time may be missing. */
  public void completeSince(long timeNs) {
    completeSinceNs = Math.max(completeSinceNs, timeNs);
  }

  /** Returns a report on the bursts so far. */
  public QueueReport report() {
    List<QueueReport.Burst> allBursts = new ArrayList<>();
    for (Map<String, List<JsonNode>> same : bursts.values()) {
      allBursts.add(
          same.entrySet().stream()
              .map(one -> QueueEvents.burst(queries.get(one.getKey()), one.getValue()))
              .max(Comparator.comparingLong(QueueReport.Burst::victims))
              .orElseThrow());
    }
    boolean incomplete = completeSinceNs > fromNs;
    return new QueueReport(
        queue,
        List.copyOf(queries.keySet()),
        allBursts,
        incomplete,
        incomplete ? completeSinceNs : 0,
        verdict(allBursts));
  }

  private List<String> verdict(List<QueueReport.Burst> bursts) {
    if (bursts.isEmpty()) {
      return List.of(
          "no burst at %s: no packet waited as long as the queries' delay".formatted(queue));
    }
    QueueReport.Burst worst =
        bursts.stream().max(Comparator.comparingLong(QueueReport.Burst::delayNs)).orElseThrow();
    long victims = bursts.stream().mapToLong(QueueReport.Burst::victims).sum();
    long lost = bursts.stream().mapToLong(QueueReport.Burst::lost).sum();
    List<String> verdict = new ArrayList<>();
    verdict.add(
        "%s at %s: packets waited up to %s, %s at least as long as the queries' delay"
            .formatted(
                bursts.size() == 1 ? "1 burst" : "%,d bursts".formatted(bursts.size()),
                queue,
                QueueCause.ms(worst.delayNs()),
                QueueCause.count(victims, "packet")));
    verdict.add(
        "in the worst burst, at %s, %s"
            .formatted(
                Instant.EPOCH.plusNanos(worst.beginNs()).toString().replace("Z", " UTC"),
                QueueCause.of(worst)));
    if (!worst.victimFlows().isEmpty()) {
      verdict.add(QueueCause.victims(worst));
    }
    if (lost > 0) {
      verdict.add(
          "%s arrived but did not leave: dropped by the queue, sent to another port, or not captured"
              .formatted(QueueCause.count(lost, "packet")));
    }
    return verdict;
  }
}
