package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testbed.FatTreePlan;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * The four queues from a pod's edge switches to its aggregation switches. Bursts from two hosts
 * fill them at the same time, on top of steady flows from two others. A query with AT measures the
 * queues. testbed/queues/copies.py compares the copies that the query's monitors receive with the
 * kernel's queues, and derives from the copies when the query's condition became true; each time,
 * an event must follow.
 */
final class FourQueues implements AutoCloseable {
  private static final List<String> EDGES = List.of("edge-0-0", "edge-0-1");
  private static final List<String> ABOVE = List.of("aggregation-0-0", "aggregation-0-1");
  static final List<String> MONITORS = List.of("h-0-0-0", "h-0-1-0");
  static final List<String> SENDERS = List.of("h-0-0-1", "h-0-1-1");
  private static final int PAYLOAD = 1400;

  /** Length of a datagram with its UDP, IPv4 and Ethernet headers. */
  static final int WIRE = PAYLOAD + 8 + 20 + 14;

  private static final double SHARE = 0.5;

  /** Number of the first port that is added to an aggregation switch for a monitor. */
  private static final int MONITOR_PORT = 40;

  /**
   * Drops packets once they have left the queues. Forwarding them further would take processor time
   * from the switches at the queues.
   */
  private static final String END = "table=1,udp,tp_dst=9000";

  private static final String QUERY =
      "PARSE queue_flows(delay=%dms, share=0.5, every=1ms, link=%d) FROM * TO *:9000 AT %s LIMIT 1h SAMPLE * "
          + "PROCESS (trigger: when=\"max(share) > 0.5\", group=(queue, src_ip), every=10ms)";

  /** Sends bursts at the rate of the host's link, one flow to each receiver, or steady flows. */
  private static final String SEND =
      """
      import socket, sys, time
      bursts, packets, gap_ms, per_second = map(int, sys.argv[1:5])
      receivers = sys.argv[5:]
      out = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4 if per_second else 1)]
      for number, each in enumerate(out):
          each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
          each.bind(("", 40001 + number))
      sent = 0
      def send(each, to):
          global sent
          sent += 1
          each.sendto(sent.to_bytes(8, "big") + bytes(1392), (to, 9000))
      while per_second:
          for each in out:
              for to in receivers:
                  send(each, to)
          time.sleep(len(out) / per_second)
      for _ in range(bursts):
          for i in range(packets):
              for to in receivers:
                  send(out[0], to)
          time.sleep(gap_ms / 1000)
      """;

  private static final String RECEIVE =
      """
      import socket, time
      into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      into.bind(("", 9000))
      time.sleep(100000)
      """;

  /**
   * Rate of a host's link, relative to that of the queues. A burst fills two queues at 1.2 times
   * their rate, in addition to steady flows at a fifth of it. With queues of 100 Mb/s, the polling
   * thread can't forward more.
   */
  private static final double HOST_RATE = 2.4;

  /** The queues' rate and length, the bursts, and the minimum delay in the query's condition. */
  record Load(
      int linkMbit, int queuePackets, int bursts, int burstPackets, int gapMs, int delayMs) {
    int bitsPerSecond() {
      return linkMbit * 1_000_000;
    }
  }

  /**
   * A queue's results.
   *
   * @param arrived number of copies of arrivals, without packets that may still wait at the end
   * @param bySource number of these copies by source address
   * @param left number of copies of departures
   * @param matched number of packets with copies of both the arrival and the departure
   * @param dropped number of packets that Open vSwitch dropped because the queue was full
   * @param longPolls number of polls that took too long, which are ignored
   * @param bytes number of bytes in the kernel's queue, for each other poll at which the queue was
   *     not empty, according to the kernel or to the copies
   * @param errors for each of these polls, the number of bytes by which the kernel's queue was
   *     outside the range that Tapline computes from the copies
   * @param alertNs for each time that the condition became true, the delay from that packet's
   *     departure until its event arrived
   */
  record Queue(
      String name,
      int arrived,
      Map<String, Long> bySource,
      int left,
      int matched,
      long dropped,
      int longPolls,
      List<Long> bytes,
      List<Long> errors,
      List<Long> alertNs) {
    /** Returns a quantile of the errors, in bytes. */
    long error(double share) {
      return quantile(errors, share);
    }

    private long beyond(int packets) {
      return errors.stream().filter(error -> Math.abs(error) > packets * WIRE).count();
    }

    @Override
    public String toString() {
      return "%s: %d arrived, %d left, %d matched, %d dropped; %d polls and %d long ones, up to %d bytes, error p50 %d p90 %d p99 %d max %d, %d of more than 3 packets; alerts after ms: %s"
          .formatted(
              name,
              arrived,
              left,
              matched,
              dropped,
              bytes.size(),
              longPolls,
              Collections.max(bytes),
              error(0.5),
              error(0.9),
              error(0.99),
              error(1),
              beyond(3),
              alertNs.stream().map(ns -> ns / 1_000_000).toList());
    }
  }

  /** Returns a quantile of the values. */
  static long quantile(List<Long> values, double share) {
    List<Long> sorted = values.stream().sorted().toList();
    return sorted.get((int) Math.min(sorted.size() - 1, share * sorted.size()));
  }

  final MirroredNetwork network;
  private final Load load;
  private final Path folder;
  private final List<AutoCloseable> open = new ArrayList<>();
  private AutoCloseable softirqs = () -> {};

  private FourQueues(Load load, Path folder, MirroredNetwork network) {
    this.load = load;
    this.folder = folder;
    this.network = network;
  }

  /**
   * Starts the network.
   *
   * @param atBothEnds the hosts whose monitors are also connected to the aggregation switches
   */
  static FourQueues up(Load load, Set<String> atBothEnds, Path folder) throws Exception {
    assumeTrue(
        Files.exists(Path.of("/usr/lib/openvswitch-switch-dpdk")),
        "SKIPPED: openvswitch-switch-dpdk is missing");
    MirroredNetwork network =
        MirroredNetwork.upWithQueues(
            Set.copyOf(MONITORS),
            load.linkMbit(),
            load.queuePackets(),
            Stream.concat(EDGES.stream(), ABOVE.stream()).toList(),
            fabric -> connectMonitors(fabric, atBothEnds));
    FourQueues queues = new FourQueues(load, folder, network);
    try {
      queues.softirqs = RealTime.softirqsFirst();
      RealTime.first(network.server().process());
      for (String host : Stream.concat(MONITORS.stream(), SENDERS.stream()).toList()) {
        queues.limitRate(host);
      }
      for (int up = 0; up < ABOVE.size(); up++) {
        network.fabric.openFlow("add-flow", "a0" + up, END + ",priority=60000,actions=drop");
      }
    } catch (Exception | AssertionError e) {
      queues.close();
      throw e;
    }
    return queues;
  }

  /**
   * Limits the rate of a host's link. Otherwise, a burst reaches the switch at memory speed, and
   * many packets wait in the switch at once. The switch then sends all of their copies before or
   * after the packets themselves.
   */
  private void limitRate(String host) {
    String rate = Math.round(load.linkMbit() * HOST_RATE) + "mbit";
    String burst = "" + (WIRE + 1);
    String[] words = {
      "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", rate, "burst", burst, "limit",
      "4mb"
    };
    network.fabric.start(host, words).await(10).expectSuccess();
  }

  private static void connectMonitors(Fabric fabric, Set<String> monitors) throws Exception {
    if (monitors.isEmpty()) {
      return;
    }
    StringBuilder ports = new StringBuilder();
    int port = MONITOR_PORT;
    for (String above : ABOVE) {
      List<String> hosts = new ArrayList<>();
      for (String host : monitors) {
        fabric.connectMonitor(host, above, port);
        hosts.add(host + ": " + port++);
      }
      ports.append("      %s: {%s}\n".formatted(above, String.join(", ", hosts)));
    }
    Files.writeString(Path.of(fabric.inventory()), ports.toString(), StandardOpenOption.APPEND);
  }

  /** Returns the queues' names, in the order of their marks. */
  static List<String> names() {
    return EDGES.stream().flatMap(edge -> ABOVE.stream().map(above -> edge + ":" + above)).toList();
  }

  private List<String> ports() {
    return Stream.of("e00u0", "e00u1", "e01u0", "e01u1")
        .map(port -> network.fabric.name + "-" + port)
        .toList();
  }

  /**
   * Returns a host in another pod for each of an edge switch's two queues, which leads to it.
   *
   * @param flows the switch's flows
   */
  private List<FatTreePlan.Node> receivers(int edge, String flows) {
    List<FatTreePlan.Node> receivers = new ArrayList<>();
    for (int up = 0; up < ABOVE.size(); up++) {
      int port =
          network.fabric.plan().switches().stream()
                  .filter(sw -> sw.id().equals(EDGES.get(edge)))
                  .findFirst()
                  .orElseThrow()
                  .ports()
                  .indexOf(ports().get(edge * ABOVE.size() + up))
              + 1;
      receivers.add(
          network.fabric.plan().hosts().stream()
              .filter(host -> !host.id().startsWith("h-0-"))
              .filter(host -> isSentBy(flows, host.mac(), port))
              .findFirst()
              .orElseThrow(
                  () -> new AssertionError("no route leaves through port " + port + ": " + flows)));
    }
    return receivers;
  }

  private static boolean isSentBy(String flows, String mac, int port) {
    return flows
        .lines()
        .anyMatch(line -> line.contains("dl_dst=" + mac) && line.endsWith("output:" + port));
  }

  /**
   * Runs the query while bursts fill the queues; returns the results of each queue.
   *
   * @throws AssertionError if the condition never became true, or if no event follows
   */
  List<Queue> run() throws Exception {
    String id =
        network.submit(
            QUERY.formatted(load.delayMs(), load.bitsPerSecond(), String.join(", ", names())));
    network.server().awaitState(id, "running");
    EventStream events = EventStream.of(network.server(), id);
    List<Path> captures = new ArrayList<>();
    Path polls;
    try {
      List<Cli.Running> capturing = new ArrayList<>();
      for (String host : MONITORS) {
        captures.add(folder.resolve(host + ".pcap"));
        capturing.add(capture(host, captures.get(captures.size() - 1)));
      }
      List<String> poll = new ArrayList<>(List.of(script("backlog.py"), "htb"));
      poll.addAll(ports());
      Cli.Running polling =
          opened(Cli.startCommand(Map.of(), RealTime.besidePolling(network.fabric, poll)));
      sendBursts();
      polls = Files.writeString(folder.resolve("polls"), ended(polling).stdout());
      capturing.forEach(FourQueues::ended);
    } finally {
      closeAll();
    }
    network.stop(id);
    List<EventStream.Arrived> arrived = events.awaitEnd();
    assertThat(network.server().rows(id)).as("alerts of the stream job").isNotEmpty();
    return compare(polls, captures, arrived);
  }

  /** Returns the number of packets that have left the queues, as the switches above count them. */
  long left() {
    return network.fabric.matched("a00", END) + network.fabric.matched("a01", END);
  }

  private static String script(String name) {
    return Cli.root().resolve("testbed/queues").resolve(name).toString();
  }

  private Cli.Running opened(Cli.Running running) {
    open.add(running);
    return running;
  }

  private static Cli.Result ended(Cli.Running running) {
    running.process().destroy();
    return running.await(60);
  }

  private void closeAll() throws Exception {
    for (int i = open.size() - 1; i >= 0; i--) {
      open.get(i).close();
    }
    open.clear();
  }

  /** Captures copies with a low priority; they wait in the kernel's buffer. */
  private Cli.Running capture(String host, Path file) throws Exception {
    String[] words = {
      "nice",
      "tcpdump",
      "-i",
      "mirror0",
      "-w",
      file.toString(),
      "-s",
      "96",
      "-B",
      "65536",
      "-Z",
      "root",
      "--time-stamp-precision=nano",
      "ether[0:4] = 0x027a9100"
    };
    Cli.Running capture = opened(network.fabric.start(host, words));
    Fabric.await("tcpdump captures", () -> capture.stderr().contains("listening on"));
    return capture;
  }

  private void sendBursts() throws Exception {
    List<Cli.Running> steady = new ArrayList<>();
    List<Cli.Running> bursts = new ArrayList<>();
    List<List<String>> receivers = new ArrayList<>();
    int perSecond = load.bitsPerSecond() / 8 / WIRE / 5;
    Map<String, String> switches = network.fabric.switches();
    for (int edge = 0; edge < EDGES.size(); edge++) {
      List<String> addresses = new ArrayList<>();
      for (FatTreePlan.Node host : receivers(edge, switches.get("e0" + edge))) {
        opened(network.fabric.start(host.id(), "python3", "-c", RECEIVE));
        addresses.add(host.address());
      }
      receivers.add(addresses);
      steady.add(send(MONITORS.get(edge), addresses, 0, 0, 0, perSecond));
    }
    Thread.sleep(1000);
    for (int edge = 0; edge < EDGES.size(); edge++) {
      bursts.add(
          send(
              SENDERS.get(edge),
              receivers.get(edge),
              load.bursts(),
              load.burstPackets(),
              load.gapMs(),
              0));
    }
    for (Cli.Running burst : bursts) {
      burst.await(120).expectSuccess();
    }
    // Every packet leaves its queue before the captures end.
    steady.forEach(FourQueues::ended);
    Thread.sleep(2000);
  }

  private Cli.Running send(String host, List<String> receivers, int... numbers) {
    List<String> words = new ArrayList<>(List.of("python3", "-c", SEND));
    for (int number : numbers) {
      words.add("" + number);
    }
    words.addAll(receivers);
    return opened(network.fabric.start(host, words.toArray(String[]::new)));
  }

  private List<Queue> compare(Path polls, List<Path> captures, List<EventStream.Arrived> events) {
    List<String> words = new ArrayList<>(List.of(script("copies.py"), polls.toString()));
    words.add("" + load.bitsPerSecond());
    words.addAll(List.of("" + TimeUnit.MILLISECONDS.toNanos(load.delayMs()), "" + SHARE));
    words.add(captures.get(0) + "=1,2");
    words.add(captures.get(1) + "=3,4");
    List<Queue> queues =
        Fabric.run(words).expectSuccess().json().stream()
            .map(figures -> queue(figures, events))
            .toList();
    long alerts = queues.stream().mapToLong(queue -> queue.alertNs().size()).sum();
    assertThat(alerts).as("times that a condition became true").isPositive();
    return queues;
  }

  private Queue queue(JsonNode figures, List<EventStream.Arrived> events) {
    String name = names().get(figures.path("mark").asInt() - 1);
    List<Long> alerts = new ArrayList<>();
    for (JsonNode onset : figures.path("onsets")) {
      alerts.add(firstEvent(events, name, onset) - onset.path("time_ns").asLong());
    }
    return new Queue(
        name,
        figures.path("arrived").asInt(),
        counts(figures.path("sources")),
        figures.path("left").asInt(),
        figures.path("matched").asInt(),
        dropped(name),
        figures.path("long_polls").asInt(),
        numbers(figures.path("bytes")),
        numbers(figures.path("errors")),
        alerts);
  }

  /** Returns the number of packets that did not fit into a queue, as Open vSwitch counts them. */
  private long dropped(String name) {
    String port = ports().get(names().indexOf(name));
    return Long.parseLong(
        network.fabric.database("get", "Interface", port, "statistics:ovs_tx_qos_drops"));
  }

  private static Map<String, Long> counts(JsonNode object) {
    Map<String, Long> counts = new TreeMap<>();
    object
        .fields()
        .forEachRemaining(field -> counts.put(field.getKey(), field.getValue().asLong()));
    return counts;
  }

  private static List<Long> numbers(JsonNode array) {
    List<Long> numbers = new ArrayList<>();
    array.forEach(number -> numbers.add(number.asLong()));
    return numbers;
  }

  /** Returns the time at which the first event after the onset, for its source, arrived. */
  private static long firstEvent(List<EventStream.Arrived> events, String queue, JsonNode onset) {
    String group = "queue=%s src_ip=%s".formatted(queue, onset.path("source").asText());
    LongStream times =
        events.stream()
            .filter(event -> event.event().at("/fields/group").asText().equals(group))
            .mapToLong(EventStream.Arrived::timeNs)
            .filter(time -> time >= onset.path("time_ns").asLong());
    return times.min().orElseThrow(() -> new AssertionError("no event after " + onset));
  }

  @Override
  public void close() throws Exception {
    try (network;
        AutoCloseable priorities = softirqs) {
      closeAll();
    }
  }
}
