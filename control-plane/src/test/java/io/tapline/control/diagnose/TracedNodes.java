package io.tapline.control.diagnose;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.NodeAddress;
import io.tapline.schema.rpc.DescribeRequest;
import io.tapline.schema.rpc.MultiLogNodeGrpc;
import io.tapline.schema.rpc.NodeDescription;
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
 * Runs a {@code tapline-multilog} node for each receiving host in an experiment of sim/packets.
 * Packets arrive through a pipe, so the test can send them after it has set up tracking or watches.
 */
public final class TracedNodes implements AutoCloseable {
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));
  private static final long TIMEOUT_S = 60;

  private final Path trace;
  private final Path folder;
  private final JsonNode truth;
  private final Map<String, Process> nodes = new LinkedHashMap<>();
  private final Map<String, ManagedChannel> channels = new LinkedHashMap<>();
  private DrillService drill;

  /** Starts the nodes and waits until they answer. */
  public TracedNodes(Path folder, String experiment) throws Exception {
    this.folder = folder;
    this.trace = ROOT.resolve("sim/packets/traces").resolve(experiment);
    this.truth = new ObjectMapper().readTree(trace.resolve("truth.json").toFile());
    for (String host : hosts()) {
      start(host);
      channels.put(
          host,
          Grpc.newChannelBuilder(address(host).target(), InsecureChannelCredentials.create())
              .build());
    }
    for (String host : hosts()) {
      await(() -> describe(host) != null);
    }
  }

  private NodeAddress address(String host) {
    return new NodeAddress(host, "unix:" + folder.resolve(host + ".sock"));
  }

  /** Returns each node as "NAME=ADDRESS", as on a server's command line. */
  public List<String> addresses() {
    return hosts().stream().map(host -> host + "=" + address(host).target()).toList();
  }

  /** Returns the description of a host's node; null while the node does not answer. */
  private NodeDescription describe(String host) {
    try {
      return MultiLogNodeGrpc.newBlockingStub(channels.get(host))
          .withDeadlineAfter(1, TimeUnit.SECONDS)
          .describe(DescribeRequest.getDefaultInstance());
    } catch (StatusRuntimeException notYet) {
      return null;
    }
  }

  /** Waits until all nodes have the watch. */
  public void awaitWatch(String name) throws Exception {
    for (String host : hosts()) {
      await(
          () -> {
            NodeDescription node = describe(host);
            return node != null
                && node.getDefinitionsList().stream()
                    .anyMatch(definition -> definition.getTrigger().getName().equals(name));
          });
    }
  }

  private TreeSet<String> hosts() {
    TreeSet<String> hosts = new TreeSet<>();
    truth.path("captured").fieldNames().forEachRemaining(hosts::add);
    return hosts;
  }

  private void start(String host) throws Exception {
    new ProcessBuilder("mkfifo", pipe(host).toString()).inheritIO().start().waitFor();
    List<String> command = new ArrayList<>();
    command.add(ROOT.resolve("build/bin/tapline-multilog").toString());
    command.addAll(List.of("--pcap", pipe(host).toString(), "--node", host));
    command.addAll(List.of("--listen", address(host).target(), "--memory-mib", "64"));
    // With a single writer, no retransmission is seen before the packets that precede it.
    command.addAll(List.of("--telemetry-hops", "5", "--writers", "1"));
    nodes.put(
        host,
        new ProcessBuilder(command).redirectError(folder.resolve(host + ".log").toFile()).start());
  }

  private Path pipe(String host) {
    return folder.resolve(host + ".pcap.zst");
  }

  /** Returns ns-3's ground truth. */
  public JsonNode truth() {
    return truth;
  }

  DrillService drill() {
    if (drill == null) {
      drill = new DrillService(hosts().stream().map(this::address).toList());
    }
    return drill;
  }

  /** Sends all packets; returns once each node has received its packets. */
  public void play() throws Exception {
    for (String host : hosts()) {
      try (OutputStream pipe = Files.newOutputStream(pipe(host))) {
        Files.copy(trace.resolve(host + ".pcap.zst"), pipe);
      }
    }
    for (String host : hosts()) {
      await(() -> rows(host) == truth.path("captured").path(host).asLong());
    }
  }

  private long rows(String host) {
    NodeDescription node = describe(host);
    return node == null ? -1 : node.getCounters().getRows();
  }

  /** A condition to wait for. */
  private interface Condition {
    boolean holds();
  }

  private void await(Condition condition) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_S);
    while (!condition.holds()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("timeout: " + logs());
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
    channels.values().forEach(ManagedChannel::shutdownNow);
    nodes.values().forEach(Process::destroyForcibly);
    for (Process node : nodes.values()) {
      node.waitFor();
    }
    // Another instance may use the same folder afterwards.
    for (String host : hosts()) {
      Files.deleteIfExists(pipe(host));
      Files.deleteIfExists(folder.resolve(host + ".sock"));
    }
  }
}
