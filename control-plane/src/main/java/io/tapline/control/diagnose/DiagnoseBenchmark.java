package io.tapline.control.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.NodeAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * Confluo's Figure 9(b): the time that the coordinator takes to find the flows that compete for a
 * link, by the number of flows, each to a different host. Hosts are processes on this machine.
 */
public final class DiagnoseBenchmark implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(120);

  /** The link for which all flows of the experiment compete. */
  private static final String LINK = Headers.DATA + " && path[0] == 100 && path[1] == 200";

  private final List<Process> processes = new ArrayList<>();
  private final List<NodeAddress> addresses = new ArrayList<>();
  private final Path folder;

  /** Medians in milliseconds. */
  public record Latency(int flows, double connectMs, double snapshotMs, double queryMs) {}

  /**
   * Starts a node for each capture and waits until it has stored packets.
   *
   * @param program tapline-multilog
   * @param traces output of {@code tapline-packets competing}
   * @param max maximum number of captures
   */
  public DiagnoseBenchmark(Path program, Path traces, int max)
      throws IOException, InterruptedException {
    folder = Files.createTempDirectory("tapline-bench-");
    // Skips flows without segments: some were starved during the capture.
    JsonNode truth = new ObjectMapper().readTree(traces.resolve("truth.json").toFile());
    for (JsonNode flow : truth.path("flows")) {
      if (flow.path("segments").asLong() > 0 && processes.size() < max) {
        start(program, traces.resolve(flow.path("receiver").asText() + ".pcap"));
      }
    }
    Instant end = Instant.now().plus(TIMEOUT);
    try (DrillService drill = new DrillService(addresses)) {
      while (!drill.states().stream().allMatch(DiagnoseBenchmark::hasRows)) {
        if (Instant.now().isAfter(end)) {
          close();
          throw new IOException("the nodes did not come up: see " + folder);
        }
        Thread.sleep(100);
      }
    }
  }

  private void start(Path program, Path capture) throws IOException {
    String host = capture.getFileName().toString().replace(".pcap", "");
    NodeAddress address = new NodeAddress(host, "unix:" + folder.resolve(host));
    List<String> command =
        List.of(
            program.toString(),
            "--pcap",
            capture.toString(),
            "--node",
            host,
            "--listen",
            address.target(),
            "--writers",
            "1",
            "--memory-mib",
            "64",
            "--telemetry-hops",
            "5");
    processes.add(
        new ProcessBuilder(command).redirectError(folder.resolve(host + ".log").toFile()).start());
    addresses.add(address);
  }

  private static boolean hasRows(DrillService.NodeState state) {
    return state.description() != null && state.description().getCounters().getRows() > 0;
  }

  /** Returns the number of hosts. */
  public int hosts() {
    return addresses.size();
  }

  /**
   * Measures the steps of a query for the flows over the link on this number of hosts, which
   * receive one flow each.
   *
   * @throws DrillException if no node answers, or the query finds a different number of flows
   */
  public Latency measure(int flows, int times) throws DrillException {
    List<double[]> steps = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      steps.add(once(flows));
    }
    return new Latency(
        flows,
        median(steps, step -> step[0]),
        median(steps, step -> step[1]),
        median(steps, step -> step[2]));
  }

  private double[] once(int flows) throws DrillException {
    try (DrillService drill = new DrillService(addresses.subList(0, flows))) {
      long begin = System.nanoTime();
      drill.states();
      long connected = System.nanoTime();
      DrillService.View view = drill.view(List.of());
      long frozen = System.nanoTime();
      int rows = new Headers(view, 0, 0).byFlow(LINK, "COUNT").size();
      long end = System.nanoTime();
      if (rows != flows) {
        throw DrillException.notFound("found " + rows + " flows over the link, expected " + flows);
      }
      return new double[] {
        (connected - begin) / 1e6, (frozen - connected) / 1e6, (end - frozen) / 1e6
      };
    }
  }

  private static double median(List<double[]> steps, ToDoubleFunction<double[]> part) {
    double[] sorted = steps.stream().mapToDouble(part).sorted().toArray();
    return sorted[sorted.length / 2];
  }

  @Override
  public void close() throws IOException {
    processes.forEach(Process::destroyForcibly);
    for (Process process : processes) {
      try {
        process.waitFor();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
  }
}
