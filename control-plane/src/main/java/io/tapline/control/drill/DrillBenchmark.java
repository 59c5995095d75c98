package io.tapline.control.drill;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * How long a snapshot of many nodes takes, and a query on it: nodes are processes of this host,
 * each with the same capture in its log.
 */
public final class DrillBenchmark implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int WARM_UP = 200;

  /** /proc/PID/stat counts CPU time in these. */
  private static final double TICKS_PER_SECOND = 100;

  private final List<Process> processes = new ArrayList<>();
  private final List<NodeAddress> addresses = new ArrayList<>();
  private final Path folder;
  private final DrillService drill;

  /**
   * Starts the nodes and waits for their packets.
   *
   * @param program tapline-multilog
   */
  public DrillBenchmark(Path program, Path capture, int nodes)
      throws IOException, InterruptedException {
    folder = Files.createTempDirectory("tapline-bench-");
    for (int i = 0; i < nodes; i++) {
      NodeAddress address = new NodeAddress("h" + i, "unix:" + folder.resolve("h" + i));
      List<String> command =
          List.of(
              program.toString(),
              "--pcap",
              capture.toString(),
              "--node",
              address.name(),
              "--listen",
              address.target(),
              "--writers",
              "1",
              "--memory-mib",
              "64");
      Path log = folder.resolve("h" + i + ".log");
      processes.add(new ProcessBuilder(command).redirectError(log.toFile()).start());
      addresses.add(address);
    }
    drill = new DrillService(addresses);
    Instant end = Instant.now().plus(PATIENCE);
    while (!drill.states().stream().allMatch(DrillBenchmark::hasRows)) {
      if (Instant.now().isAfter(end)) {
        close();
        throw new IOException("the nodes did not come up: see " + folder);
      }
      Thread.sleep(50);
    }
  }

  private static boolean hasRows(DrillService.NodeState state) {
    return state.description() != null && state.description().getCounters().getRows() > 0;
  }

  /**
   * Latencies in microseconds, and what they cost.
   *
   * @param nodeCpuMicros CPU time of one node for one of them
   * @param ownCpuMicros CPU time of this process for one of them
   */
  public record Latencies(
      String what,
      int nodes,
      double p50,
      double p90,
      double p99,
      double most,
      double nodeCpuMicros,
      double ownCpuMicros) {}

  /** What is measured. */
  private interface Step {
    void run() throws DrillException;
  }

  /** A round trip to one node, a snapshot of all, a query of a flow on a snapshot of all. */
  public List<Latencies> measure(int times, String filter) throws DrillException, IOException {
    DrillRequest request = new DrillRequest(filter, 0, 0, 1000, List.of());
    DrillRequest ofOne = new DrillRequest(filter, 0, 0, 1000, List.of("h0"));
    return List.of(
        measure("snapshot of one node", times, () -> drill.snapshotOf(ofOne)),
        measure("snapshot", times, () -> drill.snapshotOf(request)),
        measure("query", times, () -> drill.headers(request)));
  }

  private Latencies measure(String what, int times, Step step) throws DrillException, IOException {
    for (int i = 0; i < WARM_UP; i++) {
      step.run();
    }
    double nodesBefore = nodeSeconds();
    double ownBefore = seconds("self");
    double[] micros = new double[times];
    for (int i = 0; i < times; i++) {
      long begin = System.nanoTime();
      step.run();
      micros[i] = (System.nanoTime() - begin) / 1e3;
    }
    double nodeMicros = (nodeSeconds() - nodesBefore) * 1e6 / times / processes.size();
    double ownMicros = (seconds("self") - ownBefore) * 1e6 / times;
    Arrays.sort(micros);
    return new Latencies(
        what,
        processes.size(),
        micros[times / 2],
        micros[times * 9 / 10],
        micros[times * 99 / 100],
        micros[times - 1],
        nodeMicros,
        ownMicros);
  }

  private double nodeSeconds() throws IOException {
    double sum = 0;
    for (Process process : processes) {
      sum += seconds(Long.toString(process.pid()));
    }
    return sum;
  }

  private static double seconds(String process) throws IOException {
    String stat = Files.readString(Path.of("/proc", process, "stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS_PER_SECOND;
  }

  @Override
  public void close() {
    if (drill != null) {
      drill.close();
    }
    processes.forEach(Process::destroy);
    for (Process process : processes) {
      try {
        if (!process.waitFor(10, TimeUnit.SECONDS)) {
          process.destroyForcibly();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        process.destroyForcibly();
      }
    }
    removeFolder();
  }

  private void removeFolder() {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
      Files.delete(folder);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
