package io.tapline.control.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.NodeAddress;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * A {@code tapline-multilog} for each receiving host of an experiment of sim/packets. Packets come
 * through a pipe, and so when the test wants them: behind the definitions that are to see them.
 */
final class TracedNodes implements AutoCloseable {
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));
  private static final long PATIENCE_S = 60;

  private final Path trace;
  private final Path folder;
  private final JsonNode truth;
  private final Map<String, Process> nodes = new LinkedHashMap<>();
  private final DrillService drill;

  TracedNodes(Path folder, String experiment) throws Exception {
    this.folder = folder;
    this.trace = ROOT.resolve("sim/packets/traces").resolve(experiment);
    this.truth = new ObjectMapper().readTree(trace.resolve("truth.json").toFile());
    List<NodeAddress> addresses = new ArrayList<>();
    for (String host : hosts()) {
      addresses.add(start(host));
    }
    drill = new DrillService(addresses);
    await(this::allAnswer);
  }

  private TreeSet<String> hosts() {
    TreeSet<String> hosts = new TreeSet<>();
    truth.path("captured").fieldNames().forEachRemaining(hosts::add);
    return hosts;
  }

  private NodeAddress start(String host) throws Exception {
    NodeAddress address = new NodeAddress(host, "unix:" + folder.resolve(host + ".sock"));
    new ProcessBuilder("mkfifo", pipe(host).toString()).inheritIO().start().waitFor();
    List<String> command = new ArrayList<>();
    command.add(ROOT.resolve("build/bin/tapline-multilog").toString());
    command.addAll(List.of("--pcap", pipe(host).toString(), "--node", host));
    command.addAll(List.of("--listen", address.target(), "--memory-mib", "64"));
    // One writer: then no retransmission is seen before what it is behind.
    command.addAll(List.of("--telemetry-hops", "5", "--writers", "1"));
    nodes.put(
        host,
        new ProcessBuilder(command).redirectError(folder.resolve(host + ".log").toFile()).start());
    return address;
  }

  private Path pipe(String host) {
    return folder.resolve(host + ".pcap.zst");
  }

  JsonNode truth() {
    return truth;
  }

  DrillService drill() {
    return drill;
  }

  /** All packets come now; returns when each node has its own. */
  void play() throws Exception {
    for (String host : hosts()) {
      try (OutputStream pipe = Files.newOutputStream(pipe(host))) {
        Files.copy(trace.resolve(host + ".pcap.zst"), pipe);
      }
    }
    await(this::allHaveTheirs);
  }

  private boolean allAnswer() {
    return drill.states().stream().allMatch(state -> state.description() != null);
  }

  private boolean allHaveTheirs() {
    return drill.states().stream()
        .allMatch(
            state ->
                state.description() != null
                    && state.description().getCounters().getRows()
                        == truth.path("captured").path(state.address().name()).asLong());
  }

  /** Something that becomes so. */
  private interface Condition {
    boolean holds();
  }

  private void await(Condition condition) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
    while (!condition.holds()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("not in time: " + logs());
      }
      Thread.sleep(20);
    }
  }

  private String logs() throws IOException {
    StringBuilder text = new StringBuilder();
    for (String host : hosts()) {
      text.append(Files.readString(folder.resolve(host + ".log")));
    }
    return text.toString();
  }

  @Override
  public void close() throws Exception {
    if (drill != null) {
      drill.close();
    }
    nodes.values().forEach(Process::destroyForcibly);
    for (Process node : nodes.values()) {
      node.waitFor();
    }
  }
}
