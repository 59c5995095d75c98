package io.tapline.control.drill;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** MultiLog nodes on this host, with their sockets in a folder that is removed with them. */
final class NodeProcesses implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(300);

  /** USER_HZ, the unit of CPU times in /proc/PID/stat. */
  private static final double TICKS_PER_SECOND = 100;

  private final Path program;
  private final Path folder;
  private final List<Process> processes = new ArrayList<>();
  private final List<NodeAddress> addresses = new ArrayList<>();

  NodeProcesses(Path program) throws IOException {
    this.program = program;
    this.folder = Files.createTempDirectory("tapline-bench-");
  }

  Path folder() {
    return folder;
  }

  List<NodeAddress> addresses() {
    return addresses;
  }

  int size() {
    return addresses.size();
  }

  /**
   * Starts another node, h0, h1, …, in its own process.
   *
   * @param before command prefix, such as taskset with its arguments
   */
  Process start(List<String> before, String... settings) throws IOException {
    NodeAddress address = addNext();
    List<String> command = new ArrayList<>(before);
    command.addAll(List.of(program.toString(), "--node", address.name()));
    command.addAll(List.of("--listen", address.target(), "--writers", "1"));
    command.addAll(List.of(settings));
    if (!command.contains("--memory-mib")) {
      command.addAll(List.of("--memory-mib", "64"));
    }
    return start(command, address.name());
  }

  /**
   * Starts several nodes in one process.
   *
   * @param launcher path of bench_nodes
   */
  void startAll(Path launcher, Path capture, int count, String memoryMib) throws IOException {
    int first = addresses.size();
    for (int i = 0; i < count; i++) {
      addNext();
    }
    String name = addresses.get(first).name();
    List<String> command = new ArrayList<>(List.of(launcher.toString(), folder.toString()));
    command.addAll(List.of(capture.toString(), Integer.toString(first), Integer.toString(count)));
    command.add(memoryMib);
    start(command, name);
  }

  private NodeAddress addNext() {
    String name = "h" + addresses.size();
    NodeAddress address = new NodeAddress(name, "unix:" + folder.resolve(name));
    addresses.add(address);
    return address;
  }

  private Process start(List<String> command, String name) throws IOException {
    Path log = folder.resolve(name + ".log");
    Process process = new ProcessBuilder(command).redirectError(log.toFile()).start();
    processes.add(process);
    return process;
  }

  void awaitRows(DrillService drill) throws IOException, InterruptedException {
    awaitRows(drill, 1);
  }

  /**
   * Waits until each node has this number of rows.
   *
   * @throws IOException if a node does not have them in time; the message contains the first node's
   *     log
   */
  void awaitRows(DrillService drill, long rows) throws IOException, InterruptedException {
    Instant end = Instant.now().plus(TIMEOUT);
    while (!drill.states().stream().allMatch(state -> rows(state) >= rows)) {
      if (Instant.now().isAfter(end)) {
        throw new IOException(
            "the nodes did not come up: " + Files.readString(folder.resolve("h0.log")));
      }
      Thread.sleep(50);
    }
  }

  static long rows(DrillService.NodeState state) {
    return state.description() == null ? 0 : state.description().getCounters().getRows();
  }

  double cpuSeconds() throws IOException {
    double sum = 0;
    for (Process process : processes) {
      sum += cpuSeconds(Path.of("/proc", Long.toString(process.pid())));
    }
    return sum;
  }

  /** Returns the CPU time of the process or thread with this folder in /proc. */
  static double cpuSeconds(Path process) throws IOException {
    String stat = Files.readString(process.resolve("stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS_PER_SECOND;
  }

  @Override
  public void close() {
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
