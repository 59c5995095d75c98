package io.tapline.control.drill;

import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.tapline.schema.rpc.FreezeReply;
import io.tapline.schema.rpc.SnapshotAnswer;
import io.tapline.schema.rpc.Tails;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Confluo's Algorithm 1: every node's read tail is frozen before any of them is unfrozen.
 *
 * <p>A freeze expires automatically after {@link #EXPIRY}: a failed coordinator can't block a node.
 * A node reports if its freeze expired before it was unfrozen; then rows may have become visible
 * before other nodes were frozen, so the tails are discarded and the snapshot is retried. Nodes
 * that don't answer are left out and reported.
 *
 * <p>Snapshots are taken one at a time: two concurrent snapshots would conflict with each other's
 * freezes.
 */
final class Snapshots {
  /**
   * Maximum duration of a freeze: long enough for many round trips, short enough for the delay of
   * new rows to go unnoticed.
   */
  static final Duration EXPIRY = Duration.ofSeconds(2);

  /** Time to wait for responses, shorter than the expiry: a later response could not be used. */
  static final Duration TIMEOUT = Duration.ofSeconds(1);

  private static final int MAX_ATTEMPTS = 5;

  /** Maximum pause after the first attempt; the maximum doubles with each further attempt. */
  private static final int MAX_PAUSE_MS = 20;

  /**
   * Takes a snapshot of these nodes.
   *
   * @param leftOut nodes that are not queried, with the reasons; becomes part of the result
   * @throws DrillException if {@link #MAX_ATTEMPTS} attempts have failed
   */
  synchronized SnapshotVector take(Collection<NodeClient> nodes, Map<String, String> leftOut)
      throws DrillException {
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      Map<String, String> missing = new LinkedHashMap<>();
      Map<NodeClient, FreezeReply> frozen = new LinkedHashMap<>();
      boolean wasTaken = freeze(nodes, frozen, missing);
      if (unfreeze(frozen) && !wasTaken) {
        Map<NodeClient, Tails> tails = new LinkedHashMap<>();
        frozen.forEach((node, reply) -> tails.put(node, reply.getTails()));
        return new SnapshotVector(tails, missing, leftOut);
      }
      if (attempt < MAX_ATTEMPTS - 1) {
        pause(MAX_PAUSE_MS << attempt);
      }
    }
    throw new DrillException(
        DrillException.Kind.BUSY,
        "no snapshot of all nodes in "
            + MAX_ATTEMPTS
            + " attempts: another coordinator has frozen them, or a node needs more than "
            + EXPIRY.toMillis()
            + " ms to answer; try again");
  }

  /** Freezes the nodes; returns true if another coordinator had already frozen one of them. */
  private static boolean freeze(
      Collection<NodeClient> nodes,
      Map<NodeClient, FreezeReply> frozen,
      Map<String, String> missing) {
    long end = System.nanoTime() + TIMEOUT.toNanos();
    Map<NodeClient, ListenableFuture<SnapshotAnswer>> pending = new LinkedHashMap<>();
    for (NodeClient node : nodes) {
      if (node.isLost()) {
        missing.put(node.name(), node.lost());
      } else {
        pending.put(node, node.freeze(EXPIRY));
      }
    }
    boolean wasTaken = false;
    for (Map.Entry<NodeClient, ListenableFuture<SnapshotAnswer>> entry : pending.entrySet()) {
      try {
        frozen.put(entry.getKey(), answer(entry.getKey(), entry.getValue(), end).getFrozen());
      } catch (StatusRuntimeException e) {
        if (e.getStatus().getCode() == Code.FAILED_PRECONDITION) {
          wasTaken = true;
        } else {
          missing.put(entry.getKey().name(), DrillException.sentence(e.getStatus()));
        }
      }
    }
    return wasTaken;
  }

  /** Unfreezes the nodes; returns true if every node was frozen until now. */
  private static boolean unfreeze(Map<NodeClient, FreezeReply> frozen) {
    long end = System.nanoTime() + TIMEOUT.toNanos();
    Map<NodeClient, ListenableFuture<SnapshotAnswer>> pending = new LinkedHashMap<>();
    frozen.forEach((node, reply) -> pending.put(node, node.unfreeze(reply.getId())));
    boolean all = true;
    for (Map.Entry<NodeClient, ListenableFuture<SnapshotAnswer>> entry : pending.entrySet()) {
      try {
        all &= answer(entry.getKey(), entry.getValue(), end).getUnfrozen().getWasFrozen();
      } catch (StatusRuntimeException e) {
        all = false;
      }
    }
    return all;
  }

  /**
   * Waits for a node's response until {@code end}, a {@code System.nanoTime()}. Throws a {@code
   * StatusRuntimeException} if none arrives or the node refused the command.
   */
  private static SnapshotAnswer answer(
      NodeClient node, ListenableFuture<SnapshotAnswer> future, long end) {
    SnapshotAnswer response;
    try {
      response = future.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      node.abandonSnapshot();
      throw Status.DEADLINE_EXCEEDED.asRuntimeException();
    } catch (ExecutionException e) {
      throw Status.fromThrowable(e.getCause()).asRuntimeException();
    } catch (InterruptedException e) {
      node.abandonSnapshot();
      Thread.currentThread().interrupt();
      throw Status.CANCELLED.withDescription("interrupted").asRuntimeException();
    }
    if (response.hasRefused()) {
      SnapshotAnswer.Refusal refusal = response.getRefused();
      throw Status.fromCodeValue(refusal.getCode())
          .withDescription(refusal.getMessage())
          .asRuntimeException();
    }
    return response;
  }

  /** Waits for a response; the call's deadline bounds the wait. */
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

  /**
   * Pauses for a random time, at least half of the maximum, so that two coordinators don't collide
   * repeatedly.
   */
  private static void pause(int maxMs) {
    try {
      Thread.sleep(ThreadLocalRandom.current().nextInt(maxMs / 2, maxMs));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
