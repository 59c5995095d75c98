package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests NetAlytics' first use case over switches: a web shop on a testbed's hosts, with one
 * misconfigured application server, and the paper's two queries over mirrored packets. Skipped,
 * with the reason, on hosts where the shop's servers are not installed.
 */
class ShopSoak {
  private static final String PROXY = "10.0.0.2";
  private static final String APP1 = "10.0.1.2";
  private static final String APP2 = "10.1.0.2";
  private static final String DATABASE = "10.2.0.2";
  private static final String CACHE = "10.2.1.2";
  private static final String SERVICES =
      "%s:80, %s:8080, %s:8080, %s:3306, %s:11211".formatted(PROXY, APP1, APP2, DATABASE, CACHE);

  /** Hosts that capture: for each server, another host at the same switch. */
  private static final Set<String> CAPTURING_HOSTS =
      Set.of("h-0-0-1", "h-0-1-1", "h-1-0-1", "h-2-0-1", "h-2-1-1");

  @TempDir Path logs;

  private MirroredNetwork network;
  private Cli.Running shop;

  @AfterEach
  void stop() throws Exception {
    if (shop != null) {
      shop.close();
    }
    if (network != null) {
      network.close();
    }
  }

  @Test
  void thePapersTwoQueriesFindTheMisconfiguredServerOnTheNetwork() throws Exception {
    for (String program : List.of("nginx", "mariadbd", "memcached")) {
      assumeTrue(exists(program), "SKIPPED: " + program + " is missing");
    }
    network = MirroredNetwork.upWithAgents(CAPTURING_HOSTS);
    Map<String, String> previousSwitches = network.fabric.switches();
    openShop();

    String times = submit("tcp_conn_time", "diff-group: group=(src_ip, dst_ip)");
    String bytes = submit("tcp_pkt_size", "group-sum: group=(src_ip, dst_ip)");
    assertThat(network.fabric.mirroring().keySet())
        .as("the servers' switches")
        .containsExactly("e00", "e01", "e10", "e20", "e21");
    sendClients();
    long mirrored = mirrored();
    network.stop(times);
    network.stop(bytes);
    Fabric.await(
        "switches are as before", () -> network.fabric.switches().equals(previousSwitches));

    Map<String, JsonNode> rows = rows(times);
    Map<String, Long> counts = new TreeMap<>();
    rows.forEach((tier, row) -> counts.put(tier, row.at("/distribution/count").asLong()));
    assertThat(counts).as("connections, as in the servers' logs").isEqualTo(logged());
    for (String query : List.of(times, bytes)) {
      assertThat(network.get("/queries/" + query).at("/totals/packets_in").asLong())
          .as("packets received by monitors, compared with the switches' counters: " + query)
          .isEqualTo(mirrored);
    }
    requireSignatures(rows, rows(bytes));
    requireAsLogged(rows);
    drawFigures(times, bytes);
  }

  /** Writes the figures to the folder that SHOP_FIGURES names, and checks their contents. */
  private void drawFigures(String times, String bytes) throws IOException {
    Path folder = Path.of(System.getenv().getOrDefault("SHOP_FIGURES", logs + "/figures"));
    String hosts = Cli.root().resolve("testbed/three_tier/testbed.yaml").toString();
    Cli.run(
            "query",
            "shop-figures",
            "--times",
            times,
            "--bytes",
            bytes,
            "--inventory",
            hosts,
            "--server",
            network.server().url(),
            "--out",
            folder.toString())
        .expectSuccess();
    assertThat(Files.readString(folder.resolve("figure-9.csv"))).contains("proxy,app1,");
    assertThat(Files.readAllLines(folder.resolve("figure-10.csv")))
        .map(line -> line.split(",")[0])
        .hasSizeGreaterThan(2)
        .doesNotHaveDuplicates();
    assertThat(Files.readString(folder.resolve("figure-11.csv"))).contains("app2,cache,");
  }

  /**
   * Returns the number of packets that switches copied. Waits until the counters are final, since
   * switches update them only at intervals.
   */
  private long mirrored() throws Exception {
    long[] packets = {0, -1};
    Fabric.await(
        "counters no longer change",
        () -> {
          Thread.sleep(2_000);
          packets[1] = packets[0];
          packets[0] =
              network.fabric.mirroring().values().stream().mapToLong(copies -> copies).sum();
          return packets[0] > 0 && packets[0] == packets[1];
        });
    return packets[0];
  }

  private static boolean exists(String program) {
    return Stream.of("/usr/sbin", "/usr/bin").anyMatch(in -> Files.exists(Path.of(in, program)));
  }

  private void openShop() throws Exception {
    String script = Cli.root().resolve("testbed/three_tier/shop.sh").toString();
    String[] options = {"--testbed", network.fabric.name, "--output", logs.toString()};
    shop =
        Cli.startCommand(Map.of(), Stream.concat(Stream.of(script), Stream.of(options)).toList());
    Fabric.await(
        "the shop is open: " + shop.stderr(),
        () -> {
          assertThat(shop.process().isAlive()).as(shop.stderr()).isTrue();
          return Files.readString(shop.out()).contains("the shop is open");
        });
  }

  private void sendClients() throws IOException {
    shop.process().getOutputStream().write('\n');
    shop.process().getOutputStream().close();
    Cli.Result result = shop.await(150);
    assertThat(result.exitCode()).as(result.stdout() + result.stderr()).isZero();
  }

  private String submit(String parser, String processor) throws Exception {
    String id =
        network.submit(
            "PARSE %s FROM * TO %s LIMIT 1h SAMPLE * PROCESS (%s)"
                .formatted(parser, SERVICES, processor));
    network.server().awaitState(id, "running");
    return id;
  }

  /** Returns the rows by source and destination address. */
  private Map<String, JsonNode> rows(String query) throws Exception {
    Map<String, JsonNode> rows = new TreeMap<>();
    for (JsonNode row : network.server().rows(query)) {
      JsonNode key = row.path("key");
      rows.put(key.path("src_ip").asText() + " " + key.path("dst_ip").asText(), row);
    }
    return rows;
  }

  /** Returns the number of connections in the servers' logs, by source and destination address. */
  private Map<String, Long> logged() throws IOException {
    Map<String, Long> counts = new TreeMap<>();
    for (JsonNode line : lines("nginx_access.jsonl")) {
      counts.merge(line.path("client").asText() + " " + PROXY, 1L, Long::sum);
    }
    Map<String, String> tiers = Map.of("db", DATABASE, "cache", CACHE);
    for (Map.Entry<String, String> app : Map.of("app1", APP1, "app2", APP2).entrySet()) {
      for (JsonNode line : lines(app.getKey() + ".jsonl")) {
        if (line.path("kind").asText().equals("page")) {
          counts.merge(PROXY + " " + app.getValue(), 1L, Long::sum);
        }
        for (JsonNode call : line.path("calls")) {
          String tier = tiers.get(call.path("to").asText());
          counts.merge(app.getValue() + " " + tier, 1L, Long::sum);
        }
      }
    }
    return counts;
  }

  private List<JsonNode> lines(String file) throws IOException {
    return Files.readAllLines(logs.resolve(file)).stream().map(Cli::parse).toList();
  }

  /**
   * Checks the signs of the misconfiguration: about four times the response time, three times the
   * SQL traffic, and a quarter of the cache traffic.
   */
  private static void requireSignatures(Map<String, JsonNode> times, Map<String, JsonNode> bytes) {
    times.forEach(
        (tier, row) ->
            System.out.printf(
                "Shop: %-19s %,7.2f ms %,9.2f MB%n",
                tier,
                row.path("value").asDouble() / 1e6,
                bytes.get(tier).path("value").asDouble() / 1e6));
    double response = ratio(times, PROXY + " " + APP1, PROXY + " " + APP2);
    double database = ratio(bytes, APP1 + " " + DATABASE, APP2 + " " + DATABASE);
    double cache = ratio(bytes, APP1 + " " + CACHE, APP2 + " " + CACHE);
    System.out.printf(
        "Shop: app1 to app2: response time %.2f, bytes of the database %.2f, of the cache %.2f%n",
        response, database, cache);
    assertThat(response).isBetween(2.0, 8.0);
    assertThat(database).isBetween(2.0, 6.0);
    assertThat(cache).isBetween(0.1, 0.5);
  }

  /**
   * Compares the times with the proxy's log, whose response times are in whole ms and include
   * neither the handshake nor the FIN.
   */
  private void requireAsLogged(Map<String, JsonNode> times) throws IOException {
    Map<String, DoubleSummaryStatistics> logged = new TreeMap<>();
    for (JsonNode line : lines("nginx_access.jsonl")) {
      String server = line.path("upstream").asText().split(":")[0];
      logged
          .computeIfAbsent(PROXY + " " + server, ignored -> new DoubleSummaryStatistics())
          .accept(1e3 * line.path("upstream_time_s").asDouble());
    }
    logged.forEach(
        (tier, ms) -> {
          double measured = times.get(tier).path("value").asDouble() / 1e6;
          System.out.printf("Shop: %-19s %,7.2f ms in the proxy's log%n", tier, ms.getAverage());
          assertThat(measured)
              .as("ms of %s, where the proxy logged %.2f", tier, ms.getAverage())
              .isBetween(0.8 * ms.getAverage() - 2, 1.2 * ms.getAverage() + 5);
        });
  }

  private static double ratio(Map<String, JsonNode> rows, String numerator, String denominator) {
    return rows.get(numerator).path("value").asDouble()
        / rows.get(denominator).path("value").asDouble();
  }
}
