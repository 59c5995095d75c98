package io.tapline.control.query.monitors;

import com.google.protobuf.Duration;
import io.tapline.schema.proto.Limit;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;
import java.util.OptionalLong;

/**
 * One monitor's part of a query: its host, its epoch and its progress. The stream job knows the
 * part's ID and partition, which stay the same when the part moves. Guarded by its owner's lock.
 */
public final class RemotePart {
  private static final long SECOND_NS = 1_000_000_000L;

  private volatile Plan plan;
  private boolean ready;
  private boolean ended;

  /** Rates of SAMPLE auto: the last one sent, and the highest that the monitor may still keep. */
  private double announcedRate = 1;

  private double maxRate = 1;

  /**
   * End of a LIMIT's time on the clock of System.nanoTime; empty if the LIMIT has no time, or it
   * has not begun.
   */
  private OptionalLong endsAtNs;

  /**
   * Creates a part.
   *
   * @param endsAtNs end of a LIMIT's time, if it has begun
   */
  RemotePart(Plan plan, OptionalLong endsAtNs) {
    this.plan = plan;
    this.endsAtNs = endsAtNs;
  }

  /**
   * Returns the end of a LIMIT's time on the clock of System.nanoTime; empty if the LIMIT has no
   * time or it has not begun.
   *
   * @param startedNs start of the query in nanoseconds since the epoch; 0 if it has not started
   */
  public static OptionalLong endsAtNs(Limit limit, long startedNs, long nowNs) {
    return limit.hasDuration() && startedNs != 0
        ? OptionalLong.of(System.nanoTime() + startedNs + totalNs(limit) - nowNs)
        : OptionalLong.empty();
  }

  private static long totalNs(Limit limit) {
    return limit.getDuration().getSeconds() * SECOND_NS + limit.getDuration().getNanos();
  }

  Plan plan() {
    return plan;
  }

  String host() {
    return plan.getMonitors(0).getHost();
  }

  int epoch() {
    return plan.getEpoch();
  }

  /** Returns the packets of LIMIT Np granted to this part since the query began. */
  long granted() {
    return Integer.toUnsignedLong(plan.getLimit().getPackets());
  }

  /** Sets the grant; returns true if it has changed. */
  boolean grant(long packets) {
    if (packets == granted()) {
      return false;
    }
    Plan.Builder next = plan.toBuilder();
    next.getLimitBuilder().setPackets((int) packets);
    plan = next.build();
    return true;
  }

  /** Records that the monitor was asked to keep this share of the flows. */
  void limit(double rate) {
    announcedRate = rate;
    maxRate = Math.max(maxRate, rate);
  }

  /** Records that the monitor now keeps this share. */
  void limited(double rate) {
    maxRate = rate == announcedRate ? rate : maxRate;
  }

  /** Returns the highest rate that the monitor may still keep. */
  double maxRate() {
    return maxRate;
  }

  /** Marks the part as ready; returns false if it already was. */
  boolean becomesReady() {
    boolean wasBefore = ready;
    ready = true;
    if (endsAtNs.isEmpty() && plan.getLimit().hasDuration()) {
      endsAtNs = OptionalLong.of(System.nanoTime() + totalNs(plan.getLimit()));
    }
    return !wasBefore;
  }

  boolean isReady() {
    return ready;
  }

  void ends() {
    ended = true;
  }

  boolean hasEnded() {
    return ended;
  }

  /**
   * Returns the plan for another host, or for the same one after a restart: the plan has the
   * remaining time of a LIMIT, and counts all packets already granted as taken.
   */
  Plan next(String host, Match match) {
    Monitor monitor = plan.getMonitors(0).toBuilder().setHost(host).build();
    Plan.Builder next =
        plan.toBuilder().setEpoch(plan.getEpoch() + 1).setMatch(match).setMonitors(0, monitor);
    if (announcedRate < 1) {
      next.getSamplingBuilder().setLimit(announcedRate);
    }
    if (plan.getLimit().getLeased()) {
      next.getLimitBuilder().setSpent(plan.getLimit().getPackets());
    }
    if (endsAtNs.isPresent()) {
      long leftNs = Math.max(1, endsAtNs.getAsLong() - System.nanoTime());
      next.getLimitBuilder()
          .setDuration(
              Duration.newBuilder()
                  .setSeconds(leftNs / SECOND_NS)
                  .setNanos((int) (leftNs % SECOND_NS)));
    }
    return next.build();
  }

  void becomes(Plan next) {
    plan = next;
    ready = false;
    maxRate = announcedRate;
  }
}
