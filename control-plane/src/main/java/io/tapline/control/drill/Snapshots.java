package io.tapline.control.drill;

import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.tapline.schema.rpc.FreezeReply;
import io.tapline.schema.rpc.Tails;
import io.tapline.schema.rpc.UnfreezeReply;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Confluo's Algorithm 1: every node's read tail is frozen before any is unfrozen.
 *
 * <p>A freeze ends by itself after {@link #EXPIRY}, so that a coordinator that dies stops nobody. A
 * node says whether its freeze had ended before it was told to; then rows may have become visible
 * while others were still to be frozen, the tails are thrown away, and all begins anew. Nodes that
 * don't answer are left out, and named.
 *
 * <p>One snapshot at a time: two at once would find each other's freezes.
 */
final class Snapshots {
  /** Many round trips, and short enough that nobody misses what became visible meanwhile. */
  static final Duration EXPIRY = Duration.ofSeconds(2);

  /** Below the expiry: an answer later than this could not be used. */
  static final Duration PATIENCE = Duration.ofSeconds(1);

  private static final int MOST_ATTEMPTS = 5;
  private static final int MOST_PAUSE_MS = 20;

  /**
   * A snapshot of these nodes.
   *
   * @throws DrillException if there is none after several attempts
   */
  synchronized SnapshotVector take(Collection<NodeClient> nodes) throws DrillException {
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      Map<String, String> missing = new LinkedHashMap<>();
      Map<NodeClient, FreezeReply> frozen = new LinkedHashMap<>();
      boolean taken = freeze(nodes, frozen, missing);
      if (unfreeze(frozen) && !taken) {
        Map<NodeClient, Tails> tails = new LinkedHashMap<>();
        frozen.forEach((node, reply) -> tails.put(node, reply.getTails()));
        return new SnapshotVector(tails, missing);
      }
      pause();
    }
    throw new DrillException(
        DrillException.Kind.BUSY,
        "no snapshot of all nodes in "
            + MOST_ATTEMPTS
            + " attempts: another coordinator freezes them, or a node needs more than "
            + EXPIRY.toMillis()
            + " ms to answer; ask again");
  }

  /** Whether a node was frozen by another coordinator. */
  private static boolean freeze(
      Collection<NodeClient> nodes,
      Map<NodeClient, FreezeReply> frozen,
      Map<String, String> missing) {
    Map<NodeClient, ListenableFuture<FreezeReply>> asked = new LinkedHashMap<>();
    nodes.forEach(node -> asked.put(node, node.freeze(EXPIRY, PATIENCE)));
    boolean taken = false;
    for (Map.Entry<NodeClient, ListenableFuture<FreezeReply>> each : asked.entrySet()) {
      try {
        frozen.put(each.getKey(), result(each.getValue()));
      } catch (StatusRuntimeException e) {
        if (e.getStatus().getCode() == Code.FAILED_PRECONDITION) {
          taken = true;
        } else {
          missing.put(each.getKey().name(), DrillException.sentence(e.getStatus()));
        }
      }
    }
    return taken;
  }

  /** Whether every node was frozen until now. */
  private static boolean unfreeze(Map<NodeClient, FreezeReply> frozen) {
    Map<NodeClient, ListenableFuture<UnfreezeReply>> asked = new LinkedHashMap<>();
    frozen.forEach((node, reply) -> asked.put(node, node.unfreeze(reply.getId(), PATIENCE)));
    boolean all = true;
    for (ListenableFuture<UnfreezeReply> each : asked.values()) {
      try {
        all &= result(each).getWasFrozen();
      } catch (StatusRuntimeException e) {
        all = false;
      }
    }
    return all;
  }

  /** Waits; deadlines bound it. */
  static <T> T result(ListenableFuture<T> future) {
    try {
      return future.get();
    } catch (ExecutionException e) {
      throw Status.fromThrowable(e.getCause()).asRuntimeException();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Status.CANCELLED.withDescription("interrupted").asRuntimeException();
    }
  }

  private static void pause() {
    try {
      Thread.sleep(ThreadLocalRandom.current().nextInt(1, MOST_PAUSE_MS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
