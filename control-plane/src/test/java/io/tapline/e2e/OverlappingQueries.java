package io.tapline.e2e;

import static io.tapline.e2e.MirroredNetwork.H1;
import static io.tapline.e2e.MirroredNetwork.H1_ADDRESS;
import static io.tapline.e2e.MirroredNetwork.H2_ADDRESS;
import static io.tapline.e2e.MirroredNetwork.H3_ADDRESS;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * Adds and removes eleven queries for overlapping packets in a random order, while clients send
 * requests and hosts ping. Each query must count exactly its requests, and nothing else may be
 * affected.
 */
final class OverlappingQueries {
  static final String COUNT =
      "PARSE http_get FROM %s TO %s LIMIT 1h SAMPLE * PROCESS (group-count: group=url, w=1s, s=1s)";

  /** A query, and the clients whose requests it selects. */
  private record OverlappingQuery(String from, String to, Set<String> names) {}

  /** The traffic during the whole test, by name: the client, the server's address and its port. */
  private static final Map<String, List<String>> TRAFFIC =
      new TreeMap<>(
          Map.of(
              "a", List.of("h-2-0-0", H1_ADDRESS, "80"),
              "b", List.of("h-2-1-1", H1_ADDRESS, "81"),
              "c", List.of("h-3-1-1", H1_ADDRESS, "80"),
              "d", List.of("h-3-1-1", H2_ADDRESS, "8080"),
              "e", List.of("h-0-0-1", H2_ADDRESS, "8080"),
              "f", List.of("h-2-0-1", H3_ADDRESS, "80"),
              "g", List.of(H1, H2_ADDRESS, "8080")));

  /**
   * The queries. The last one selects both ends of g; the second query mirrors g at one switch, and
   * the fourth mirrors it at the other.
   */
  private static final List<OverlappingQuery> ALL =
      List.of(
          new OverlappingQuery("*", H1_ADDRESS + ":80", Set.of("a", "c")),
          new OverlappingQuery("*", H1_ADDRESS, Set.of("a", "b", "c", "g")),
          new OverlappingQuery("*", "10.0.0.0/24:80", Set.of("a", "c", "f")),
          new OverlappingQuery("*", H2_ADDRESS + ":8080", Set.of("d", "e", "g")),
          new OverlappingQuery("*", "10.0.0.2:80, 10.1.0.2:8080", Set.of("a", "c", "d", "e", "g")),
          new OverlappingQuery("10.2.0.0/16", "10.0.0.0/24:80-90", Set.of("a", "b", "f")),
          new OverlappingQuery("10.3.1.3", "*", Set.of("c", "d")),
          new OverlappingQuery("10.3.1.3", H1_ADDRESS + ":80", Set.of("c")),
          new OverlappingQuery("h-0-0-1, h-3-1-1", "10.0.0.0/8:8080", Set.of("d", "e")),
          new OverlappingQuery(
              "*", "10.0.0.2:80-81, 10.1.0.0/24:8080", Set.of("a", "b", "c", "d", "e", "g")),
          new OverlappingQuery("*", "10.0.0.2, 10.1.0.2", Set.of("a", "b", "c", "d", "e", "g")));

  /** A query that has been stopped, with its times. */
  private record CompletedRun(
      OverlappingQuery wanted, String id, long submittedNs, long runningNs, long stoppingNs) {}

  private final MirroredNetwork network;
  private final Random random;
  private final Map<OverlappingQuery, String> running = new LinkedHashMap<>();
  private final Map<String, Long> submittedNs = new TreeMap<>();

  OverlappingQueries(MirroredNetwork network, long seed) {
    this.network = network;
    this.random = new Random(seed);
  }

  /** Adds all queries at once, then repeatedly removes one and adds it again, then removes all. */
  void run(int rounds) throws Exception {
    Map<String, String> previousSwitches = network.fabric.switches();
    network.fabric.slowRetransmissions();
    Map<String, String> resets = network.resets();
    Map<String, Requests> traffic = new TreeMap<>();
    try (Cli.Running one = network.fabric.start("h-2-1-0", "ping", "-i", "0.1", H1_ADDRESS);
        Cli.Running otherPing = network.fabric.start("h-0-1-0", "ping", "-i", "0.1", H2_ADDRESS)) {
      TRAFFIC.forEach((name, way) -> traffic.put(name, start(name, way)));
      addAndRemove(rounds, traffic);
      assertThat(network.resets()).as("TCP resets").isEqualTo(resets);
      requireAllAnswered(one);
      requireAllAnswered(otherPing);
      traffic
          .values()
          .forEach(requests -> assertThat(requests.isAlive()).as(requests.log()).isTrue());
    } finally {
      traffic.values().forEach(Requests::close);
    }
    Fabric.await(
        "switches are as before", () -> network.fabric.switches().equals(previousSwitches));
  }

  private Requests start(String name, List<String> way) {
    int port = Integer.parseInt(way.get(2));
    return network.requests(way.get(0), way.get(1), port, name, Requests.UNLIMITED);
  }

  private void addAndRemove(int rounds, Map<String, Requests> traffic) throws Exception {
    List<OverlappingQuery> order = new ArrayList<>(ALL);
    Collections.shuffle(order, random);
    for (OverlappingQuery wanted : order) {
      add(wanted);
    }
    for (int round = 0; round < rounds; round++) {
      OverlappingQuery any = ALL.get(random.nextInt(ALL.size()));
      requireExactly(remove(any, traffic), traffic);
      add(any);
    }
    Collections.shuffle(order, random);
    for (OverlappingQuery wanted : order) {
      requireExactly(remove(wanted, traffic), traffic);
    }
  }

  private void add(OverlappingQuery wanted) throws Exception {
    long nowNs = Requests.nowNs();
    String id = network.submit(COUNT.formatted(wanted.from(), wanted.to()));
    submittedNs.put(id, nowNs);
    running.put(wanted, id);
  }

  /** Removes a query once each of its clients has received a few responses. */
  private CompletedRun remove(OverlappingQuery wanted, Map<String, Requests> traffic)
      throws Exception {
    String id = running.remove(wanted);
    network.server().awaitState(id, "running");
    long runningNs = network.get("/queries/" + id).path("started_ns").asLong();
    for (String name : wanted.names()) {
      Fabric.await(
          "responses to " + name,
          () ->
              traffic.get(name).done().stream()
                      .filter(request -> request.beganNs() > runningNs)
                      .count()
                  >= 5);
    }
    long stoppingNs = Requests.nowNs();
    network.stop(id);
    return new CompletedRun(wanted, id, submittedNs.remove(id), runningNs, stoppingNs);
  }

  /**
   * Checks that each request completed while the query was running is counted once, and that no
   * earlier request and no other client's request is counted.
   */
  private void requireExactly(CompletedRun ran, Map<String, Requests> traffic) throws Exception {
    Map<String, Long> counts = network.counted(ran.id());
    Map<String, Long> wrong = new TreeMap<>(counts);
    wrong.values().removeIf(count -> count == 1);
    assertThat(wrong).as("counted more than once: %s", ran).isEmpty();
    Set<String> names = new TreeSet<>();
    counts.keySet().forEach(url -> names.add(url.split("/")[1]));
    assertThat(ran.wanted().names()).as("%s", ran).containsAll(names);
    for (String name : ran.wanted().names()) {
      for (Requests.Request request : traffic.get(name).done()) {
        boolean within =
            request.beganNs() > ran.runningNs() && request.endedNs() < ran.stoppingNs();
        boolean wasBefore = request.endedNs() < ran.submittedNs();
        assertThat(within && !counts.containsKey(request.url()))
            .as("%s misses %s", ran, request)
            .isFalse();
        assertThat(wasBefore && counts.containsKey(request.url()))
            .as("%s has %s", ran, request)
            .isFalse();
      }
    }
  }

  /** Ends a ping; fails if any reply before the last one was lost, or any reply was duplicated. */
  static void requireAllAnswered(Cli.Running ping) {
    Fabric.run(List.of("kill", "-INT", Long.toString(ping.process().pid())));
    List<Integer> answered =
        ping.await(30)
            .stdout()
            .lines()
            .filter(line -> line.contains("icmp_seq=") && line.contains("bytes from"))
            .map(line -> Integer.parseInt(line.replaceFirst(".*icmp_seq=(\\d+).*", "$1")))
            .sorted()
            .toList();
    assertThat(answered).hasSizeGreaterThan(20);
    int last = answered.get(answered.size() - 1);
    assertThat(answered).isEqualTo(IntStream.rangeClosed(1, last).boxed().toList());
  }
}
