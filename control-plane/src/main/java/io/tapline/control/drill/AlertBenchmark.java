package io.tapline.control.drill;

import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.tapline.schema.rpc.AggregateFunction;
import io.tapline.schema.rpc.AttachRequest;
import io.tapline.schema.rpc.Definition;
import io.tapline.schema.rpc.NodeEvent;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Measures alert latency, from the periodic check at which a node's trigger fires to the alert's
 * arrival in this process. Replays a capture's packets at their original intervals.
 */
public final class AlertBenchmark implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final NodeProcesses nodes;
  private final NodeClient node;
  private final Queue<Double> micros = new ConcurrentLinkedQueue<>();

  /** Starts a node, after warming up this program with another one. */
  public AlertBenchmark(Path program, Path capture) throws IOException, InterruptedException {
    nodes = new NodeProcesses(program);
    nodes.start(List.of(), "--pcap", capture.toString());
    try (NodeClient first = new NodeClient(nodes.addresses().get(0), NodeAccess.LOCAL)) {
      define(first);
    }
    nodes.start(List.of(), "--pcap", capture.toString(), "--speed", "1x");
    node = new NodeClient(nodes.addresses().get(1), NodeAccess.LOCAL);
  }

  /**
   * Returns the latencies of the alerts that arrive within this time, in microseconds and ascending
   * order.
   */
  public double[] measure(Duration duration) throws InterruptedException {
    define(node);
    node.attach(
        AttachRequest.newBuilder().setHeartbeatMs(1000).build(),
        new StreamObserver<>() {
          @Override
          public void onNext(NodeEvent event) {
            if (event.hasAlert()) {
              Instant now = Instant.now();
              long ns = now.getEpochSecond() * 1_000_000_000 + now.getNano();
              micros.add((ns - event.getAlert().getFoundNs()) / 1e3);
            }
          }

          @Override
          public void onError(Throwable error) {
            // Missing alerts show in the number of latencies.
          }

          @Override
          public void onCompleted() {
            // Missing alerts show in the number of latencies.
          }
        });
    Thread.sleep(duration.toMillis());
    double[] sorted = micros.stream().mapToDouble(Double::doubleValue).toArray();
    Arrays.sort(sorted);
    return sorted;
  }

  /** Defines a trigger that alerts once for each millisecond with a packet. */
  private static void define(NodeClient node) throws InterruptedException {
    Definition.StoredAggregate packets =
        Definition.StoredAggregate.newBuilder()
            .setName("packets")
            .setFunction(AggregateFunction.newBuilder().setFunction("COUNT"))
            .build();
    Definition.Trigger trigger =
        Definition.Trigger.newBuilder()
            .setName("any")
            .setAggregate("packets")
            .setCondition("COUNT > 0")
            .build();
    // Retries until the node is up.
    while (true) {
      try {
        Snapshots.result(
            node.define(Definition.newBuilder().setAggregate(packets).build(), TIMEOUT));
        break;
      } catch (StatusRuntimeException e) {
        Thread.sleep(20);
      }
    }
    Snapshots.result(node.define(Definition.newBuilder().setTrigger(trigger).build(), TIMEOUT));
  }

  @Override
  public void close() {
    node.close();
    nodes.close();
  }
}
