package io.tapline.control.diagnose;

import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.DrillService;
import java.util.List;
import java.util.Map;

/** Runs the diagnoses on the nodes that a server knows. Thread-safe. */
public final class DiagnosisService {
  private static final long MAX_STEPS = 10_000;

  /** Resolution of present-day timestamps as 64-bit floating-point numbers. */
  private static final long ROUNDING_NS = 256;

  private final DrillService drill;
  private final Tracking tracking;

  public DiagnosisService(DrillService drill) {
    this.drill = drill;
    this.tracking = new Tracking(drill.watches());
  }

  /** Makes nodes track retransmissions; returns the watch's name. */
  public String track(long limit, long reorderNs) throws DrillException {
    return tracking.begin(limit, reorderNs);
  }

  /**
   * Finds where segments were lost between two times, and why.
   *
   * @param toNs 0 for no end
   */
  public LossReport losses(long fromNs, long toNs) throws DrillException {
    String stored = tracking.filter();
    if (stored == null) {
      throw DrillException.notFound(
          "retransmissions are not tracked yet: start with tapline diagnose track, and retry after some traffic");
    }
    return new LossDiagnosis(new Headers(drill.view(List.of()), fromNs, toNs), stored).run();
  }

  /** Finds packets that traversed forbidden switches, or bypassed required ones. */
  public PathReport path(
      String filter, List<Long> avoid, List<Long> through, long fromNs, long toNs)
      throws DrillException {
    if (avoid.isEmpty() && through.isEmpty()) {
      throw DrillException.invalid("no rule: name a switch to avoid or a switch to traverse");
    }
    Headers headers = new Headers(drill.view(List.of()), fromNs, toNs);
    return new PathDiagnosis(headers, filter, avoid, through).run();
  }

  /**
   * Detects whether flows to a host suffer from TCP outcast.
   *
   * @param fromNs start; 0 for the first segment
   * @param forNs length of the span
   * @param everyNs interval of the queries
   */
  public OutcastReport outcast(String destination, long fromNs, long forNs, long everyNs)
      throws DrillException {
    if (everyNs <= 0 || forNs <= 0 || forNs / everyNs > MAX_STEPS) {
      throw DrillException.invalid(
          "give a span and a step; the step must be at least a " + MAX_STEPS + "th of the span");
    }
    Headers headers = new Headers(drill.view(List.of()), 0, 0);
    long begin = fromNs;
    if (begin == 0) {
      Map<List<String>, Double> first =
          headers.numbers(Headers.DATA + " && dst_ip == " + destination, "MIN(time)", List.of());
      begin = first.values().stream().findFirst().orElse(1e9).longValue() - ROUNDING_NS;
    }
    return new OutcastDiagnosis(
            headers, destination, tracking.filter(), begin, begin + forNs, everyNs)
        .run();
  }
}
