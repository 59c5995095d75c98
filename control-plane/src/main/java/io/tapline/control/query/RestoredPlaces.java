package io.tapline.control.query;

import io.tapline.schema.proto.Queue;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Reserves the network's resources again for the queries that an earlier control plane left behind.
 */
final class RestoredPlaces {
  private final QueryPlacements placements;
  private final Map<String, String> displaced = new HashMap<>();

  RestoredPlaces(QueryPlacements placements) {
    this.placements = placements;
  }

  /** Returns, by ID, why queries could not get their resources back. */
  Map<String, String> restore(List<QueryRecord> left) {
    for (QueryRecord record : left) {
      if (!record.hasEnded()) {
        restore(record);
      }
    }
    return displaced;
  }

  private void restore(QueryRecord record) {
    List<Queue> copiedQueues =
        record.parts().stream()
            .flatMap(part -> part.getQueuesList().stream())
            .filter(parameter -> parameter.getMark() != 0)
            .toList();
    if (!copiedQueues.isEmpty()) {
      restoreCopies(record, copiedQueues);
    } else if (TrafficCollectors.has(record.plan())) {
      restoreTraffic(record);
    } else if (record.mirrored()) {
      restoreMirroring(record);
    }
  }

  private void restoreMirroring(QueryRecord record) {
    QueryPlacements.Outcome outcome =
        placements.reserve(record.id(), record.plan().getMatch(), Optional.of(record.hosts()));
    Set<String> hosts = outcome.plan().map(plan -> plan.parts().keySet()).orElse(Set.of());
    if (!hosts.equals(record.hosts())) {
      displaced.put(
          record.id(),
          "it was mirrored to %s, which is no longer possible%s: resubmit it"
              .formatted(
                  String.join(", ", record.hosts()),
                  outcome.refusal().isEmpty() ? "" : " (" + outcome.refusal() + ")"));
    }
  }

  private void restoreCopies(QueryRecord record, List<Queue> copiedQueues) {
    String refusal = placements.reserveCopies(record.id(), copiedQueues, Set.of()).refusal();
    if (!refusal.isEmpty()) {
      displaced.put(
          record.id(), "its queues can't be copied again (%s): resubmit it".formatted(refusal));
    }
  }

  private void restoreTraffic(QueryRecord record) {
    String refusal =
        placements.reserveTraffic(record.id(), TrafficCollectors.traffic(record.plan())).refusal();
    if (!refusal.isEmpty()) {
      displaced.put(
          record.id(),
          "switches can't copy all traffic for it again (%s): resubmit it".formatted(refusal));
    }
  }
}
