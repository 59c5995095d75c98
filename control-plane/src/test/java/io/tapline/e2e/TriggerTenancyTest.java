package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testing.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests triggers of two tenants in one monitor. A tenant's events must not depend on the number of
 * groups that the other tenant's packets form.
 */
@MakesNetworkDevices
class TriggerTenancyTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  /** A pause longer than two windows plus the delay of events. */
  private static final long SETTLE_MS = 3_000;

  private static final int GROUPS = 100_000;

  /** The other tenant has fewer groups. */
  private static final int GROUPS_ALLOWED = 500;

  private static final int PORTS = 20;
  private static final int PACKETS_PER_PORT = 50;
  private static final String QUIET = "192.0.2.2";
  private static final String FLOODED = "10.255.0.1";

  /**
   * Maximum number of attempts, since a busy machine may lose packets before they reach the
   * monitor.
   */
  private static final int MAX_ATTEMPTS = 5;

  /**
   * Sends frames of 100 bytes. Each of the flood's frames has a new source address. The other
   * tenant's frames are spread evenly among them, and go to its ports in turn.
   */
  private static final String SENDER =
      """
      import socket, struct, sys, time
      groups, ports, each = (int(number) for number in sys.argv[2:5])
      link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
      link.bind((sys.argv[1], 0))
      def frame(source, destination, port):
          ip = struct.pack("!BBHHHBBHII", 0x45, 0, 86, 0, 0, 64, 17, 0, source, destination)
          return bytes(12) + b"\\x08\\x00" + ip + struct.pack("!HHHH", 4000, port, 66, 0) + bytes(58)
      quiet = [frame(0xc0000201, 0xc0000202, 7000 + number % ports) for number in range(ports * each)]
      gap = max(1, groups // len(quiet))
      for number in range(max(groups, len(quiet) * gap)):
          if number % gap == 0 and number // gap < len(quiet):
              link.send(quiet[number // gap])
          if number < groups:
              link.send(frame(0x0a000000 + number, 0x0aff0001, 9))
          if number % 50 == 0:
              time.sleep(0.001)
      """;

  /** The second comparison makes each event contain its window's final value. */
  private static final String CONDITION = "sum(bytes) > 0 and count > 0";

  private static final String QUERY =
      "PARSE packets FROM * TO %1$s LIMIT 1h SAMPLE * PROCESS "
          + "(trigger: when=\"%2$s\", group=%3$s, every=900ms), "
          + "(trigger: when=\"%2$s\", group=dst_ip, every=900ms)";

  @TempDir Path folder;
  private WebLink link;
  private Server server;
  private String quiet;
  private String flood;

  @BeforeEach
  void start() throws Exception {
    link = WebLink.open();
    quiet = token("quiet", "192.0.2.0/24");
    flood = token("flood", "10.0.0.0/8");
    server =
        Server.start(
            "--interface",
            link.networkInterface(),
            "--tokens",
            folder.resolve("tokens").toString());
  }

  @AfterEach
  void stop() throws Exception {
    if (server != null) {
      server.close();
    }
    if (link != null) {
      link.close();
    }
  }

  private String token(String tenant, String subnet) {
    String file = folder.resolve("tokens").toString();
    return Cli.run(
            "token", "--tokens", file, "--tenant", tenant, "--role", "analyst", "--subnet", subnet)
        .expectSuccess()
        .stdout()
        .strip();
  }

  private Cli.Result run(String token, String... arguments) {
    return Cli.run(Map.of("TAPLINE_TOKEN", token, "TAPLINE_SERVER", server.url()), arguments);
  }

  /** A running query and its events. */
  private final class RunningQuery {
    private final List<JsonNode> events = Collections.synchronizedList(new ArrayList<>());
    private final String token;
    private final String id;

    RunningQuery(String token, String destination, String group) throws Exception {
      this.token = token;
      id =
          run(token, "query", "submit", QUERY.formatted(destination, CONDITION, group), "--json")
              .expectSuccess()
              .json()
              .get(0)
              .path("id")
              .asText();
      Await.until(
          id + " runs",
          TIMEOUT,
          () ->
              run(token, "query", "show", id, "--json")
                  .expectSuccess()
                  .json()
                  .get(0)
                  .path("state")
                  .asText()
                  .equals("running"));
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(server.url() + "/api/v1/queries/" + id + "/events"))
              .header("Authorization", "Bearer " + token)
              .build();
      HttpClient.newHttpClient()
          .sendAsync(request, HttpResponse.BodyHandlers.ofLines())
          .thenAccept(response -> response.body().forEach(this::take));
    }

    void stop() {
      run(token, "query", "stop", id).expectSuccess();
    }

    private void take(String line) {
      if (line.startsWith("data:") && line.contains("\"events\"")) {
        Cli.parse(line.substring("data:".length())).path("events").forEach(events::add);
      }
    }

    /** Returns the sums of the events' values by group, over all windows. */
    Map<String, Long> sums(Predicate<String> wanted) {
      Map<String, Long> sums = new TreeMap<>();
      for (JsonNode event : List.copyOf(events)) {
        JsonNode fields = event.path("fields");
        String group = fields.path("group").asText();
        if (wanted.test(group)) {
          sums.merge(group, fields.path("value").asLong(), Long::sum);
        }
      }
      return sums;
    }

    long total(String address) {
      return sums(group -> group.equals("dst_ip=" + address)).values().stream()
          .mapToLong(Long::longValue)
          .sum();
    }
  }

  private void send(int groups) throws Exception {
    List<String> command = List.of("python3", "-c", SENDER, link.networkInterface());
    List<String> all = new ArrayList<>(command);
    for (int number : new int[] {groups, PORTS, PACKETS_PER_PORT}) {
      all.add(Integer.toString(number));
    }
    assertThat(new ProcessBuilder(all).inheritIO().start().waitFor()).as("sent").isZero();
  }

  /** Waits until a query has events and receives no more. */
  private static void settle(RunningQuery query) throws Exception {
    Await.until("events come", TIMEOUT, () -> !query.events.isEmpty());
    int previousCount;
    do {
      previousCount = query.events.size();
      Thread.sleep(SETTLE_MS);
    } while (query.events.size() != previousCount);
  }

  @Test
  void groupsOfOneTenantChangeNoEventOfAnother() throws Exception {
    Map<String, Long> expected = sumsAlone();
    long bytes = expected.values().iterator().next() / PACKETS_PER_PORT;
    List<Long> counted = new ArrayList<>();
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      RunningQuery otherRunning = new RunningQuery(flood, FLOODED, "src_ip");
      RunningQuery watched = new RunningQuery(quiet, QUIET, "dst_port");
      send(GROUPS);
      settle(otherRunning);
      settle(watched);
      if (otherRunning.total(FLOODED) == GROUPS * bytes) {
        assertThat(watched.sums(TriggerTenancyTest::isPort)).isEqualTo(expected);
        assertThat(watched.total(QUIET)).isEqualTo(bytes * PORTS * PACKETS_PER_PORT);
        assertThat(otherRunning.sums(group -> group.startsWith("src_ip=")))
            .hasSizeGreaterThan(1_000);
        return;
      }
      counted.add(otherRunning.total(FLOODED) / bytes);
      otherRunning.stop();
      watched.stop();
    }
    throw new AssertionError(
        "in each attempt, packets were lost before they reached the monitor; counted, of %d: %s"
            .formatted(GROUPS, counted));
  }

  /** Returns the sums of the quiet tenant's ports while no other tenant has traffic. */
  private Map<String, Long> sumsAlone() throws Exception {
    List<Map<String, Long>> attempts = new ArrayList<>();
    while (attempts.size() < MAX_ATTEMPTS) {
      RunningQuery alone = new RunningQuery(quiet, QUIET, "dst_port");
      send(0);
      settle(alone);
      alone.stop();
      Map<String, Long> sums = alone.sums(TriggerTenancyTest::isPort);
      if (sums.size() == PORTS && new TreeSet<>(sums.values()).size() == 1) {
        return sums;
      }
      attempts.add(sums);
    }
    throw new AssertionError(
        "each port was sent the same number of bytes, but the counts differ: " + attempts);
  }

  private static boolean isPort(String group) {
    return group.startsWith("dst_port=");
  }

  /** Tests that a quota of groups affects only the tenant that has it, and is exceeded visibly. */
  @Test
  void aTenantOverItsQuotaLosesOnlyItsOwnGroups() throws Exception {
    Path tokens = folder.resolve("tokens");
    Files.writeString(
        tokens,
        Files.readString(tokens) + "tenants:\n  flood: {trigger_groups: " + GROUPS_ALLOWED + "}\n");
    RunningQuery otherRunning = new RunningQuery(flood, FLOODED, "src_ip");
    assertThat(
            run(flood, "query", "show", otherRunning.id, "--json")
                .expectSuccess()
                .json()
                .get(0)
                .path("notes")
                .toString())
        .contains("at most " + GROUPS_ALLOWED + " groups of a window separately");
    RunningQuery watched = new RunningQuery(quiet, QUIET, "dst_port");
    send(10 * GROUPS_ALLOWED);
    settle(otherRunning);
    settle(watched);
    Map<Long, Integer> groups = new TreeMap<>();
    List<JsonNode> rests = new ArrayList<>();
    for (JsonNode event : List.copyOf(otherRunning.events)) {
      JsonNode fields = event.path("fields");
      if (fields.path("scope").asText().equals("rest")) {
        rests.add(fields);
      } else if (fields.path("group").asText().startsWith("src_ip=")) {
        groups.merge(fields.path("window_start_ns").asLong(), 1, Integer::sum);
      }
    }
    assertThat(rests).as("events of the groups beyond the quota").isNotEmpty();
    assertThat(rests).allMatch(fields -> !fields.path("certain").asBoolean());
    assertThat(groups.values()).allMatch(count -> count <= GROUPS_ALLOWED).isNotEmpty();
    assertThat(watched.sums(TriggerTenancyTest::isPort)).hasSize(PORTS);
    assertThat(
            watched.events.stream()
                .filter(event -> event.at("/fields/scope").asText().equals("rest")))
        .as("the other tenant has all its groups")
        .isEmpty();
  }

  @Test
  void otherSubnetsAreRefused() {
    for (String destination : List.of(QUIET, "192.0.2.0/24", "10.0.0.0/7")) {
      Cli.Result refusedResult =
          run(flood, "query", "submit", QUERY.formatted(destination, CONDITION, "src_ip"));
      assertThat(refusedResult.exitCode()).as(destination).isNotZero();
      assertThat(refusedResult.stderr()).as(destination).contains("10.0.0.0/8");
    }
  }
}
