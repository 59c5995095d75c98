package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.MethodDescriptor;
import io.tapline.control.testing.Await;
import io.tapline.schema.rpc.SnapshotAnswer;
import io.tapline.schema.rpc.SnapshotCommand;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the causal consistency of the coordinator's snapshots with real nodes. A chain of batches
 * is appended to the nodes, each once the previous one is visible at its node. A snapshot is
 * consistent if it contains a prefix of the chain.
 */
class SnapshotAtomicityTest {
  private static final int NODES = 3;
  private static final int TRIALS = 300;

  @TempDir Path folder;
  private final List<FedNode> nodes = new ArrayList<>();
  private final List<NodeClient> clients = new ArrayList<>();
  private final Snapshots snapshots = new Snapshots();

  @BeforeEach
  void start() throws Exception {
    for (int i = 0; i < NODES; i++) {
      nodes.add(new FedNode(folder, "n" + i));
    }
    for (FedNode node : nodes) {
      node.append();
      Await.until("the first rows", Duration.ofSeconds(30), node::showsAll);
    }
  }

  @AfterEach
  void stop() throws Exception {
    clients.forEach(NodeClient::close);
    for (FedNode node : nodes) {
      node.close();
    }
  }

  /** Connects the coordinator to a node. Each command to the node passes through {@code before}. */
  private void connect(FedNode node, UnaryOperator<SnapshotCommand> before) {
    ClientInterceptor interceptor =
        new ClientInterceptor() {
          @Override
          public <Q, A> ClientCall<Q, A> interceptCall(
              MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
              @Override
              @SuppressWarnings("unchecked")
              public void sendMessage(Q message) {
                boolean commands = message instanceof SnapshotCommand;
                super.sendMessage(commands ? (Q) before.apply((SnapshotCommand) message) : message);
              }
            };
          }
        };
    clients.add(
        new NodeClient(
            node.address(),
            NodeAccess.LOCAL,
            Grpc.newChannelBuilder(node.address().target(), InsecureChannelCredentials.create())
                .intercept(interceptor)
                .build()));
  }

  /** A chain of batches, appended to the nodes in an irregular order. */
  private final class Chain {
    private final AtomicBoolean over = new AtomicBoolean();
    private final CompletableFuture<Void> end = CompletableFuture.runAsync(this::write, this::run);

    private void run(Runnable task) {
      new Thread(task, "chain").start();
    }

    private static Random order() {
      return new Random(7);
    }

    private void write() {
      Random order = order();
      try {
        while (!over.get()) {
          FedNode node = nodes.get(order.nextInt(NODES));
          node.append();
          while (!node.showsAll()) {
            Thread.onSpinWait();
          }
        }
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }

    /** Returns, for each node, how many of the chain's first {@code rows} rows it has. */
    private static List<Long> beginning(long rows) {
      Random order = order();
      long[] counts = new long[NODES];
      for (long left = rows; left > 0; left -= FedNode.BATCH) {
        counts[order.nextInt(NODES)] += Math.min(left, FedNode.BATCH);
      }
      return Arrays.stream(counts).boxed().toList();
    }

    void stop() {
      over.set(true);
      end.join();
    }
  }

  /** Returns, for each node, the number of the chain's rows in the snapshot. */
  private static List<Long> counts(SnapshotVector snapshot) {
    return snapshot.tails().values().stream()
        .map(tails -> tails.getRowsList().stream().mapToLong(Long::longValue).sum() - FedNode.BATCH)
        .toList();
  }

  @Test
  void noEffectIsSeenWithoutItsCause() throws Exception {
    Random delays = new Random(1);
    for (FedNode node : nodes) {
      // Simulates a slow network, in which commands reach the nodes at very different times.
      connect(
          node,
          command -> {
            LockSupport.parkNanos(delays.nextInt(3_000_000));
            return command;
          });
    }
    Chain chain = new Chain();
    List<Long> latest = List.of();
    int changes = 0;
    try {
      for (int trial = 0; trial < TRIALS; trial++) {
        List<Long> counts = counts(snapshots.take(clients, Map.of()));
        long rows = counts.stream().mapToLong(Long::longValue).sum();
        assertThat(counts).as("snapshot %d", trial).isEqualTo(Chain.beginning(rows));
        changes += counts.equals(latest) ? 0 : 1;
        latest = counts;
      }
    } finally {
      chain.stop();
    }
    assertThat(changes).as("snapshots between which the chain grew").isGreaterThan(TRIALS / 4);
  }

  /** Tests a node whose freeze expires early, so that the tails are not from the same moment. */
  @Test
  void aSnapshotWithAnExpiredFreezeIsRetried() throws Exception {
    AtomicInteger freezes = new AtomicInteger();
    FedNode hasty = nodes.get(1);
    connect(nodes.get(0), command -> command);
    connect(
        hasty,
        command -> {
          if (command.hasFreeze()) {
            boolean isFirst = freezes.incrementAndGet() == 1;
            return isFirst ? withExpiry(command, Duration.ofMillis(1)) : command;
          }
          if (freezes.get() == 1) {
            awaitThawed(hasty);
          }
          return command;
        });
    connect(nodes.get(2), command -> command);
    SnapshotVector snapshot = snapshots.take(clients, Map.of());
    assertThat(snapshot.missing()).isEmpty();
    assertThat(counts(snapshot)).containsOnly(0L);
    assertThat(freezes).hasValue(2);
  }

  private static SnapshotCommand withExpiry(SnapshotCommand command, Duration expiry) {
    return command.toBuilder()
        .setFreeze(command.getFreeze().toBuilder().setExpiryNs(expiry.toNanos()))
        .build();
  }

  /** Waits until another coordinator can freeze the node. */
  private static void awaitThawed(FedNode node) {
    SnapshotAnswer response;
    do {
      response = Snapshots.result(node.client().freeze(Snapshots.EXPIRY));
    } while (response.hasRefused());
    Snapshots.result(node.client().unfreeze(response.getFrozen().getId()));
  }
}
