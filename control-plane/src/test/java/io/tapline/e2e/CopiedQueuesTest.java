package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Tests queries with AT over real switches without configured taps. The server is the controller of
 * a testbed with slow links, and switches copy both sides of the queues to an agent's monitor.
 * Skipped, with the reason, on hosts that can't run a testbed.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@MakesNetworkDevices
class CopiedQueuesTest {
  private static final String AGENT = "h-0-0-0";
  private static final String SENDER = "h-0-0-1";
  private static final String RECEIVER = "h-2-0-0";
  private static final String RECEIVER_ADDRESS = "10.2.0.2";

  /**
   * Link rate, which a sender exceeds even on a loaded machine, so that packets wait in the queue.
   */
  private static final int LINK_MBIT = 5;

  private static final int QUEUE_PACKETS = 100;
  private static final int PAYLOAD = 1000;
  private static final int BURSTS = 4;
  private static final int BURST_PACKETS = 600;
  private static final String PORT = "9000";

  /** Length of a datagram with its UDP, IPv4 and Ethernet headers. */
  private static final int WIRE = PAYLOAD + 8 + 20 + 14;

  private static final String UP =
      "edge-0-0:aggregation-0-0, edge-0-0:aggregation-0-1 LIMIT 300s SAMPLE * ";
  private static final String DEPTH =
      "PARSE queue_depth(every=10ms) FROM * TO * AT "
          + UP
          + "PROCESS (group-%s: group=queue, by=%s, w=1s)";
  private static final String FLOWS =
      "PARSE queue_flows(delay=5ms, share=0.01, every=10ms) FROM * TO *:9000 AT "
          + UP
          + "PROCESS (group-max: group=(queue, src_port), by=queued_packets, w=1s)";

  /** A query for packets that the same switch copies to the same monitor. */
  private static final String PLAIN =
      "PARSE udp_flow FROM 10.0.0.3 TO *:9000 LIMIT 300s SAMPLE * PROCESS (group-sum: group=dst_port, by=client_packets, w=1s)";

  private static final String SEND =
      """
      import socket, sys, time
      to, port, bursts, packets, size = sys.argv[1], *map(int, sys.argv[2:])
      out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
      out.bind(("", 40001))
      number = 0
      for burst in range(bursts):
          for i in range(packets):
              out.sendto(number.to_bytes(8, "big") + bytes(size - 8), (to, port))
              number += 1
              if number % 10 == 0:
                  time.sleep(0.002)
          time.sleep(1)
      """;
  private static final String RECEIVE =
      """
      import socket, sys, time
      into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
      into.bind(("", int(sys.argv[1])))
      into.settimeout(20)
      numbers = set()
      try:
          while True:
              numbers.add(int.from_bytes(into.recv(2000)[:8], "big"))
              into.settimeout(4)
      except TimeoutError:
          print(len(numbers), flush=True)
      """;

  private MirroredNetwork network;

  @BeforeAll
  void start() throws Exception {
    network = MirroredNetwork.upWithQueues(Set.of(AGENT), LINK_MBIT, QUEUE_PACKETS);
  }

  @AfterAll
  void stop() throws Exception {
    if (network != null) {
      network.close();
    }
  }

  /** Sends bursts; returns the number of datagrams that arrived. */
  private long send() throws Exception {
    try (Cli.Running receiver = network.fabric.start(RECEIVER, "python3", "-c", RECEIVE, PORT)) {
      Fabric.await(
          "the receiver is ready",
          () ->
              Fabric.run(network.fabric.in(RECEIVER, "ss", "-lun")).stdout().contains(":" + PORT));
      List<String> words = new ArrayList<>(List.of("python3", "-c", SEND, RECEIVER_ADDRESS, PORT));
      List.of(BURSTS, BURST_PACKETS, PAYLOAD).forEach(number -> words.add("" + number));
      try (Cli.Running sender = network.fabric.start(SENDER, words.toArray(String[]::new))) {
        sender.await(60).expectSuccess();
      }
      return Long.parseLong(receiver.await(60).expectSuccess().stdout().strip());
    }
  }

  private String submit(String query) throws Exception {
    String id = network.submit(query);
    network.server().awaitState(id, "running");
    return id;
  }

  private Map<String, Double> values(String query) throws Exception {
    return network.server().rows(query).stream()
        .collect(
            Collectors.toMap(
                row -> row.path("key").toString(),
                row -> row.path("value").asDouble(),
                Double::sum,
                TreeMap::new));
  }

  private static double sum(Map<String, Double> values) {
    return values.values().stream().mapToDouble(Double::doubleValue).sum();
  }

  /**
   * Waits until the results no longer change, so that the last windows and all lost copies are
   * counted.
   */
  private void awaitRest(String... queries) throws Exception {
    String seen = "";
    int same = 0;
    for (int second = 0; second < 90 && same < 15; second++) {
      StringBuilder now = new StringBuilder().append(mirrored().path("lost"));
      for (String query : queries) {
        now.append(values(query));
      }
      same = now.toString().equals(seen) ? same + 1 : 0;
      seen = now.toString();
      Thread.sleep(1000);
    }
  }

  private long dropped() {
    return network.fabric.dropped("e00u0") + network.fabric.dropped("e00u1");
  }

  /** Returns the accounting of the copies sent to the agent's host. */
  private JsonNode mirrored() throws Exception {
    for (JsonNode agent : network.get("/nodes").path("agents")) {
      if (agent.path("agent").asText().equals(AGENT)) {
        return agent.path("mirrored");
      }
    }
    throw new AssertionError("no agent " + AGENT);
  }

  @Test
  void theQueueOfAPortIsMeasuredFromCopiesOfBothItsSides() throws Exception {
    Map<String, String> previousSwitches = network.fabric.switches();
    String lost = submit(DEPTH.formatted("sum", "lost"));
    String left = submit(DEPTH.formatted("sum", "packets"));
    String bytes = submit(DEPTH.formatted("sum", "bytes"));
    String deepest = submit(DEPTH.formatted("max", "queue_packets"));
    String flows = submit(FLOWS);
    String plain = submit(PLAIN);
    assertThat(network.fabric.mirroring().keySet()).containsExactlyInAnyOrder("e00", "a00", "a01");

    long droppedBefore = dropped();
    int sent = BURSTS * BURST_PACKETS;
    long received = send();
    long dropped = dropped() - droppedBefore;
    awaitRest(lost, left, plain);
    double arrived = sum(values(plain));
    long copiesLost = received - (long) sum(values(left));
    JsonNode copies = mirrored();
    for (String query : new String[] {lost, left, bytes, deepest, flows, plain}) {
      network.stop(query);
    }

    String seen =
        "%d sent, %d received, %d dropped by the kernel's queue; lost %s, left %s, deepest %s, %s; %s; %s"
            .formatted(
                sent,
                received,
                dropped,
                values(lost),
                values(left),
                values(deepest),
                values(flows),
                values(plain),
                copies);
    // Once the kernel's queue refuses a packet, the switch drops the rest of the batch. A switch
    // that was not scheduled for a while sends copies of departures in bursts, some of which are
    // dropped on their way.
    assertThat(dropped).as(seen).isPositive();
    assertThat(arrived).as(seen).isBetween(0.9 * sent, (double) sent);
    assertThat(sum(values(lost))).as(seen).isEqualTo(arrived - received + copiesLost);
    assertThat(arrived - received).as(seen).isGreaterThanOrEqualTo(dropped);
    assertThat(copiesLost).as(seen).isBetween(0L, received / 5);
    assertThat(copies.path("lost").asLong()).as(seen).isEqualTo(copiesLost);
    assertThat(sum(values(bytes))).as(seen).isEqualTo(sum(values(left)) * WIRE);
    assertThat(values(deepest).values()).as(seen).anyMatch(max -> max > 0.9 * QUEUE_PACKETS);
    assertThat(values(flows).keySet()).as(seen).allMatch(key -> key.contains("40001")).isNotEmpty();
    assertThat(network.fabric.switches()).isEqualTo(previousSwitches);
  }

  @Test
  void aQueueThatNoMonitorSeesOnBothSidesIsRefused() throws Exception {
    String depth =
        "PARSE queue_depth FROM * TO * AT %s LIMIT 9s SAMPLE * PROCESS (group-sum: group=queue, by=lost)";
    String[] submit = {
      "query", "submit", depth.formatted("edge-0-0:h-0-0-1"), "--server", network.server().url()
    };
    Cli.Result toHost = Cli.run(submit);
    assertThat(toHost.exitCode()).isNotZero();
    assertThat(toHost.stderr())
        .contains("edge-0-0:h-0-0-1 leads to the host h-0-0-1, where no switch can copy departures")
        .contains("--tap edge-0-0:h-0-0-1:departures=INTERFACE");

    Map<String, String> previousSwitches = network.fabric.switches();
    String down = network.submit(depth.formatted("aggregation-0-0:edge-0-0"));
    Fabric.await(
        "it has failed",
        () -> network.get("/queries/" + down).path("state").asText().equals("failed"));
    assertThat(network.get("/queries/" + down).path("error").asText())
        .contains("no monitor can see both sides of queue aggregation-0-0:edge-0-0")
        .contains("Hosts with an agent: " + AGENT);
    assertThat(network.fabric.switches()).isEqualTo(previousSwitches);
  }
}
