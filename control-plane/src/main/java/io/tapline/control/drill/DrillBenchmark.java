package io.tapline.control.drill;

import io.tapline.schema.rpc.NodeCounters;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * Measures how long a snapshot of many nodes and a query on it take. The nodes run on this host,
 * each with its own endpoint and the same headers in its log.
 */
public final class DrillBenchmark implements AutoCloseable {
  private static final int WARM_UP = 200;
  private static final int IDLE_SECONDS = 3;

  /** Size of a row without its frame, including its share of the indexes. */
  private static final int BYTES_PER_ROW = 128;

  /** Memory for the segment that is being filled and the next one. */
  private static final int MIN_MEMORY_MIB = 24;

  private final NodeProcesses nodes;
  private final DrillService drill;
  private final String flow;

  /**
   * Starts the nodes and waits until each has all rows.
   *
   * @param programs folder of tapline-multilog and bench_nodes
   * @param rows headers in each node's log, without frames, which would not fit for 128 nodes
   * @param perProcess number of nodes per process; 1 for the regular tapline-multilog
   */
  public DrillBenchmark(Path programs, int rows, int count, int perProcess)
      throws IOException, InterruptedException {
    nodes = new NodeProcesses(programs.resolve("tapline-multilog"));
    Path capture = nodes.folder().resolve("headers.pcap");
    HeaderCapture.write(capture, rows);
    String memory = Long.toString(memoryMib(rows));
    for (int i = 0; i < count; i += perProcess) {
      if (perProcess == 1) {
        nodes.start(
            List.of(), "--pcap", capture.toString(), "--frame-bytes", "0", "--memory-mib", memory);
      } else {
        nodes.startAll(
            programs.resolve("bench_nodes"), capture, Math.min(perProcess, count - i), memory);
      }
    }
    drill = new DrillService(nodes.addresses());
    nodes.awaitRows(drill, rows);
    flow = HeaderCapture.filterOf(rows / HeaderCapture.PACKETS_PER_FLOW / 2);
  }

  private static long memoryMib(int rows) {
    return MIN_MEMORY_MIB + ((long) rows * BYTES_PER_ROW >> 20);
  }

  /**
   * Latencies in microseconds, and the CPU time spent.
   *
   * @param nodeCpuMicros one node's CPU time per operation, in excess of an idle node's
   * @param ownCpuMicros this process's CPU time per operation
   * @param frozenMicros mean duration of a freeze on a node
   */
  public record Latencies(
      String label,
      int nodes,
      double p50,
      double p90,
      double p99,
      double max,
      double nodeCpuMicros,
      double ownCpuMicros,
      double frozenMicros) {}

  /** A measured operation. */
  private interface Step {
    void run() throws DrillException;
  }

  /**
   * Measures a snapshot of one node, a snapshot of all nodes, and a query for one flow, including
   * the snapshot of all nodes that it takes.
   */
  public List<Latencies> measure(int times)
      throws DrillException, IOException, InterruptedException {
    DrillRequest request = new DrillRequest(flow, 0, 0, 1000, List.of());
    DrillRequest ofOne = new DrillRequest(flow, 0, 0, 1000, List.of("h0"));
    double idle = idleSeconds();
    return List.of(
        measure("snapshot of one node", times, idle, () -> drill.snapshotOf(ofOne)),
        measure("snapshot", times, idle, () -> drill.snapshotOf(request)),
        measure("query", times, idle, () -> drill.headers(request)));
  }

  /** Returns the CPU time of all nodes in a second without requests. */
  private double idleSeconds() throws IOException, InterruptedException {
    double previousCpuSeconds = nodes.cpuSeconds();
    Thread.sleep(IDLE_SECONDS * 1000L);
    return (nodes.cpuSeconds() - previousCpuSeconds) / IDLE_SECONDS;
  }

  private Latencies measure(String label, int times, double idleSeconds, Step step)
      throws DrillException, IOException {
    for (int i = 0; i < WARM_UP; i++) {
      step.run();
    }
    double nodesBefore = nodes.cpuSeconds();
    Freezes previousFreezes = freezes();
    long began = System.nanoTime();
    double ownBefore = NodeProcesses.cpuSeconds(Path.of("/proc/self"));
    double[] micros = new double[times];
    for (int i = 0; i < times; i++) {
      long begin = System.nanoTime();
      step.run();
      micros[i] = (System.nanoTime() - begin) / 1e3;
    }
    double idle = idleSeconds * (System.nanoTime() - began) / 1e9;
    double nodeMicros = (nodes.cpuSeconds() - nodesBefore - idle) * 1e6 / times / nodes.size();
    double ownMicros = (NodeProcesses.cpuSeconds(Path.of("/proc/self")) - ownBefore) * 1e6 / times;
    Freezes laterFreezes = freezes();
    Arrays.sort(micros);
    return new Latencies(
        label,
        nodes.size(),
        micros[times / 2],
        micros[times * 9 / 10],
        micros[times * 99 / 100],
        micros[times - 1],
        nodeMicros,
        ownMicros,
        (laterFreezes.nanos - previousFreezes.nanos)
            / 1e3
            / (laterFreezes.count - previousFreezes.count));
  }

  /** Number and total duration of all nodes' freezes since they started. */
  private record Freezes(long count, long nanos) {}

  private Freezes freezes() {
    long count = 0;
    long nanos = 0;
    for (DrillService.NodeState state : drill.states()) {
      NodeCounters counters = state.description().getCounters();
      count += counters.getFreezes();
      nanos += counters.getFrozenNs();
    }
    return new Freezes(count, nanos);
  }

  @Override
  public void close() {
    drill.close();
    nodes.close();
  }
}
