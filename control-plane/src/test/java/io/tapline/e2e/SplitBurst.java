package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A host sends a kilobyte to each of two servers every 10 ms, and now and then a burst. Different
 * monitors capture the two flows, and only both flows together exceed the trigger's threshold.
 */
final class SplitBurst {
  /** The time between two bursts is a second. */
  private static final long MAX_DELAY_NS = 300_000_000;

  private static final String CLIENT = "h-2-1-0";
  private static final int PORT = 9999;
  private static final int BURSTS = 8;
  private static final int DATAGRAMS = 25;

  /** Bytes of Ethernet, IP and UDP headers. */
  private static final int HEADERS = 42;

  private static final int STEADY = 958;
  private static final int LARGE = 1400;
  private static final long BYTES = 2L * (DATAGRAMS * (LARGE + HEADERS) + STEADY + HEADERS);
  private static final String QUERY =
      "PARSE packets FROM %s TO %s, %s LIMIT 300s SAMPLE *"
          + " PROCESS (trigger: when=\"sum(bytes) > 50KB\", group=src_ip, every=10ms, only=\"dst_port = "
          + PORT
          + "\")";

  /**
   * Sends at 2 ms into each window of 10 ms. Prints, for each burst, the beginning of its window
   * and 1 if the burst was sent entirely between 1 and 7 ms into that window.
   */
  private static final String SEND =
      """
      import socket, sys, time
      servers, port = sys.argv[1:3], int(sys.argv[3])
      bursts, datagrams, steady, large = (int(text) for text in sys.argv[4:8])
      out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      window = 10_000_000
      first = time.time_ns() // window + 1
      for number in range(100 * (bursts + 1)):
          start = (first + number) * window
          time.sleep(max(0, start + 2_000_000 - time.time_ns()) / 1e9)
          before = time.time_ns() - start
          burst = number % 100 == 50 and number > 100
          for server in servers:
              out.sendto(bytes(steady), (server, port))
              for _ in range(datagrams if burst else 0):
                  out.sendto(bytes(large), (server, port))
          after = time.time_ns() - start
          if burst:
              print(start, int(before > 1_000_000 and after < 7_000_000))
      """;

  private final MirroredNetwork network;

  SplitBurst(MirroredNetwork network) {
    this.network = network;
  }

  /** Sends the bursts and requires an alert for them, in their windows and in no others. */
  void run() throws Exception {
    String query =
        network.submit(
            QUERY.formatted(
                address(CLIENT), MirroredNetwork.H1_ADDRESS, MirroredNetwork.H2_ADDRESS));
    network.server().awaitState(query, "running");
    JsonNode plan = network.get("/queries/" + query).path("plan");
    assertThat(plan.path("monitors")).as("two monitors").hasSize(2);
    Map<Long, Boolean> bursts = send();
    assertThat(bursts).isNotEmpty();
    long last = bursts.keySet().stream().mapToLong(Long::longValue).max().orElseThrow();
    Fabric.await(
        "the last burst's window has ended",
        () ->
            network.server().rows(query).stream()
                .anyMatch(row -> row.path("window_end_ns").asLong() > last));
    List<JsonNode> raised = new ArrayList<>(network.server().rows(query));
    raised.removeIf(row -> !row.at("/alert/state").asText().equals("raised"));
    System.out.printf("Bursts over two monitors: %s; alerts: %s%n", bursts, raised);
    assertThat(raised).hasSizeLessThanOrEqualTo(bursts.size());
    for (JsonNode row : raised) {
      long startNs = row.path("window_start_ns").asLong();
      assertThat(bursts.keySet()).anyMatch(burst -> Math.abs(burst - startNs) <= MAX_DELAY_NS);
      assertThat(row.at("/key/src_ip").asText()).isEqualTo(address(CLIENT));
      assertThat(row.path("exemplars")).as("a sum belongs to no flow").isEmpty();
    }
    // If the machine is paused, a burst reaches the monitors in a later window.
    assertThat(raised)
        .as("whole bursts of %d bytes, in their windows", BYTES)
        .anyMatch(
            row ->
                bursts.getOrDefault(row.path("window_start_ns").asLong(), false)
                    && row.path("value").asLong() == BYTES);
    network.stop(query);
  }

  private String address(String host) {
    return network.fabric.plan().hosts().stream()
        .filter(node -> node.id().equals(host))
        .findFirst()
        .orElseThrow()
        .address();
  }

  /** Returns the beginning of each burst's window, and whether it was sent within the window. */
  private Map<Long, Boolean> send() throws Exception {
    Cli.Running sender =
        network.fabric.start(
            CLIENT,
            "python3",
            "-c",
            SEND,
            MirroredNetwork.H1_ADDRESS,
            MirroredNetwork.H2_ADDRESS,
            "" + PORT,
            "" + BURSTS,
            "" + DATAGRAMS,
            "" + STEADY,
            "" + LARGE);
    Map<Long, Boolean> bursts = new TreeMap<>();
    sender
        .await(60)
        .expectSuccess()
        .stdout()
        .lines()
        .map(line -> line.split(" "))
        .forEach(words -> bursts.put(Long.valueOf(words[0]), words[1].equals("1")));
    return bursts;
  }
}
