package io.tapline.control.query.events;

import io.tapline.schema.rpc.EventBatch;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;

/**
 * Acknowledgements of logged events that have not been sent to the agents yet. The one with the
 * highest number acknowledges all batches from a monitor's incarnation. Acknowledgements are
 * collected briefly before they are sent, since each one wakes four threads and agents need them
 * only to free memory. Confined to one thread.
 */
final class Acknowledgements {
  private static final long DELAY_NS = TimeUnit.MILLISECONDS.toNanos(10);

  /**
   * Size of the waiting batches in bytes at which acknowledgements are sent immediately. It is a
   * fraction of the window that an agent may send ahead of them, so that the agent does not block.
   */
  private static final long MAX_BYTES = 64 << 10;

  private static final long NEVER = Long.MAX_VALUE;

  private final Map<Life, Acknowledgement> waiting = new LinkedHashMap<>();
  private long bytes;
  private long dueNs;

  private record Life(String agent, String query, long incarnation) {}

  private record Acknowledgement(LongConsumer taken, long next) {
    Acknowledgement orDeferred(Acknowledgement otherAcknowledgement) {
      return otherAcknowledgement.next >= next ? otherAcknowledgement : this;
    }
  }

  /** Adds the acknowledgement of a batch that has been logged, or whose query is not running. */
  void add(String agent, EventBatch batch, LongConsumer taken) {
    if (waiting.isEmpty()) {
      dueNs = System.nanoTime() + DELAY_NS;
    }
    waiting.merge(
        new Life(agent, batch.getQuery(), batch.getIncarnation()),
        new Acknowledgement(taken, batch.getFirst() + batch.getCount()),
        Acknowledgement::orDeferred);
    bytes += batch.getSerializedSize();
    if (bytes >= MAX_BYTES || batch.getLast()) {
      send();
    }
  }

  /** Returns the time in ns until acknowledgements are due; {@link #NEVER} if none are waiting. */
  long dueInNs(long nowNs) {
    return waiting.isEmpty() ? NEVER : Math.max(0, dueNs - nowNs);
  }

  /** Sends the acknowledgements if they are due. */
  void sendDue(long nowNs) {
    if (dueInNs(nowNs) == 0) {
      send();
    }
  }

  /** Sends all acknowledgements. */
  void send() {
    waiting.values().forEach(waiter -> waiter.taken().accept(waiter.next()));
    waiting.clear();
    bytes = 0;
  }
}
