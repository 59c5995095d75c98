package io.tapline.control.query;

import com.google.protobuf.Duration;
import io.tapline.schema.proto.Match;
import io.tapline.schema.proto.Monitor;
import io.tapline.schema.proto.Plan;

/**
 * One monitor's part of a query: where it is, since which epoch, and how far. Its ID and partition,
 * which the stream job knows, stay whatever its host. Changed under its owner's lock.
 */
final class RemotePart {
  private static final long SECOND_NS = 1_000_000_000L;

  private volatile Plan plan;
  private boolean ready;
  private boolean ended;

  /** Monotonic; 0 before it was ready for the first time. */
  private long readyAtNs;

  RemotePart(Plan plan) {
    this.plan = plan;
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

  /** Whether it may take so many packets and no more: how many it took goes with its host. */
  boolean isCounted() {
    return plan.getLimit().getPackets() > 0;
  }

  /** False if it was. */
  boolean becomesReady() {
    boolean before = ready;
    ready = true;
    readyAtNs = readyAtNs == 0 ? System.nanoTime() : readyAtNs;
    return !before;
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

  /** What another host would be told, or the same one anew: of a LIMIT's time what is left. */
  Plan next(String host, Match match) {
    Monitor monitor = plan.getMonitors(0).toBuilder().setHost(host).build();
    Plan.Builder next =
        plan.toBuilder().setEpoch(plan.getEpoch() + 1).setMatch(match).setMonitors(0, monitor);
    if (plan.getLimit().hasDuration() && readyAtNs != 0) {
      Duration whole = plan.getLimit().getDuration();
      long wholeNs = whole.getSeconds() * SECOND_NS + whole.getNanos();
      long leftNs = Math.max(1, wholeNs - (System.nanoTime() - readyAtNs));
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
    readyAtNs = 0;
  }
}
