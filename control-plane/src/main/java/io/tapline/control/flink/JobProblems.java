package io.tapline.control.flink;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tracks problems that keep jobs from working, and reports those that last longer than a job
 * usually takes to start. Thread-safe.
 */
final class JobProblems {
  private static final long USUAL_START_NS = 3_000_000_000L;

  private final Map<String, JobProblem> known = new ConcurrentHashMap<>();

  /**
   * The reason why a job does not work.
   *
   * @param sinceNs time at which it was first seen, by {@link System#nanoTime}
   */
  private record JobProblem(String reason, long sinceNs) {}

  /**
   * Updates the state of a job.
   *
   * @param details response of Flink's {@code /jobs/ID}
   */
  void note(String job, JsonNode details) {
    String reason = reason(details);
    if (reason.isEmpty()) {
      known.remove(job);
      return;
    }
    known.merge(
        job,
        new JobProblem(reason, System.nanoTime()),
        (before, now) -> before.reason().equals(reason) ? before : now);
  }

  /**
   * Returns the problem of a job; empty if there is none. A job that waits for slots is RUNNING,
   * too: only its vertices show that it waits.
   */
  private static String reason(JsonNode details) {
    if (details.path("state").asText().equals("RESTARTING")) {
      return "its stream job has failed and is restarting; until it runs again, its tuples wait in Kafka";
    }
    for (JsonNode part : details.path("vertices")) {
      if (part.path("tasks").path("SCHEDULED").asInt() > 0) {
        return "Flink has no free slot for this query's stream job; its tuples wait in Kafka until a slot is free";
      }
    }
    return "";
  }

  void forget(String job) {
    known.remove(job);
  }

  /**
   * Returns the problem that keeps a job from working; empty if there is none, or if it has not
   * lasted long yet.
   */
  String of(String job) {
    JobProblem hindrance = known.get(job);
    boolean lasts = hindrance != null && System.nanoTime() - hindrance.sinceNs() > USUAL_START_NS;
    return lasts ? hindrance.reason() : "";
  }
}
