package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Tests teams with separate tokens on one server, with real headers and real queries. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TenancyTest {
  private static final String CAPTURE = "testbed/three_tier/three_tier.pcap.zst";
  private static final String QUERY =
      "PARSE tcp_pkt_size FROM * TO %s LIMIT 90s SAMPLE * PROCESS (group-sum: group=(src_ip, dst_ip), by=packets)";
  private static final long PACKETS = 125609;
  private static final long SECONDS = 60;

  @TempDir static Path folder;
  private Cli.Running node;
  private Server server;
  private String admin;
  private String team;
  private String subnet;
  private String other;

  @BeforeAll
  void start() throws Exception {
    String capture = Cli.root().resolve(CAPTURE).toString();
    Path socket = folder.resolve("h0");
    node =
        Cli.startCommand(
            Map.of(),
            List.of(
                Cli.root().resolve("build/bin/tapline-multilog").toString(),
                "--node",
                "h0",
                "--listen",
                "unix:" + socket,
                "--pcap",
                capture));
    admin = token("ops", "admin");
    server =
        Server.start(
            "--pcap", capture, "--multilog", "h0=unix:" + socket, "--tokens", tokens().toString());
    Set<String> addresses = awaitAddresses();
    assertThat(addresses).hasSizeGreaterThan(3);
    subnet = List.copyOf(addresses).get(0) + "/32";
    other = List.copyOf(addresses).get(1);
    // The server loads the new token without a restart.
    team = token("web", "analyst", "--subnet", subnet);
  }

  @AfterAll
  void stop() {
    if (server != null) {
      server.close();
    }
    node.close();
  }

  private Path tokens() {
    return folder.resolve("tokens.yaml");
  }

  private String token(String tenant, String role, String... more) {
    List<String> arguments =
        new ArrayList<>(
            List.of("token", "--tokens", tokens().toString(), "--tenant", tenant, "--role", role));
    arguments.addAll(List.of(more));
    return Cli.run(arguments.toArray(String[]::new)).expectSuccess().stdout().strip();
  }

  private Cli.Result run(String token, String... arguments) {
    return Cli.run(Map.of("TAPLINE_TOKEN", token, "TAPLINE_SERVER", server.url()), arguments);
  }

  /**
   * Waits until the node has stored or dropped all headers; returns their destination addresses.
   */
  private Set<String> awaitAddresses() throws Exception {
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    long taken = 0;
    while (taken < PACKETS) {
      assertThat(System.nanoTime()).as("%d packets taken", taken).isLessThan(end);
      Cli.Result nodes = run(admin, "nodes", "--json");
      taken = nodes.exitCode() == 0 ? settled(nodes.json().get(0)) : 0;
    }
    Set<String> seen = new TreeSet<>();
    pairs(admin, "").forEach(row -> seen.add(row.path("key").path("dst_ip").asText()));
    return seen;
  }

  private static long settled(JsonNode node) {
    long settled = node.path("rows").asLong();
    for (JsonNode count : node.path("dropped")) {
      settled += count.asLong();
    }
    return settled;
  }

  private List<JsonNode> pairs(String token, String filter) {
    return run(
            token, "drill", filter, "--aggregate", "COUNT", "--group-by", "src_ip,dst_ip", "--json")
        .expectSuccess()
        .json()
        .stream()
        .filter(row -> row.has("key"))
        .toList();
  }

  private boolean isMine(JsonNode row) {
    String address = subnet.replace("/32", "");
    return row.path("key").path("src_ip").asText().equals(address)
        || row.path("key").path("dst_ip").asText().equals(address);
  }

  @Test
  void aTeamSeesOnlyItsHeaders() {
    List<JsonNode> all = pairs(admin, "");
    List<JsonNode> ownNodes = all.stream().filter(this::isMine).toList();
    assertThat(ownNodes).isNotEmpty().hasSizeLessThan(all.size());
    assertThat(pairs(team, "")).containsExactlyInAnyOrderElementsOf(ownNodes);
    for (String trick :
        List.of("bytes >= 0 || bytes >= 0", "!(src_ip in " + subnet + ")", "src_ip == " + other)) {
      assertThat(pairs(team, trick)).as(trick).allMatch(this::isMine);
    }
    assertThat(run(team, "drill", "bytes > 0) || (bytes > 0").exitCode()).isEqualTo(1);
  }

  @Test
  void aTeamSeesOnlyItsResults() throws Exception {
    Cli.Result refusedResult = run(team, "query", "submit", QUERY.formatted(other));
    assertThat(refusedResult.exitCode()).isNotZero();
    assertThat(refusedResult.stderr()).contains(other + " is outside your subnets");
    String mine = submit(team, QUERY.formatted(subnet.replace("/32", "")));
    String whole = submit(admin, QUERY.formatted("*"));
    assertThat(mine).startsWith("web-");
    assertThat(whole).startsWith("ops-");
    awaitEnd(mine);
    awaitEnd(whole);
    List<JsonNode> rows = rows(team, mine);
    assertThat(rows).isNotEmpty().allMatch(this::isMine);
    assertThat(rows(admin, whole)).anyMatch(row -> !isMine(row));
    assertThat(run(team, "query", "results", whole).stderr()).contains("no query " + whole);
    assertThat(run(team, "query", "list").expectSuccess().stdout())
        .contains(mine)
        .doesNotContain(whole);
    assertThat(run("", "query", "list").stderr()).contains("no token: send Authorization");
  }

  private String submit(String token, String query) {
    return run(token, "query", "submit", query, "--json")
        .expectSuccess()
        .json()
        .get(0)
        .get("id")
        .asText();
  }

  private void awaitEnd(String id) throws Exception {
    long end = System.nanoTime() + 3 * SECONDS * 1_000_000_000L;
    String state = "";
    while (!state.equals("finished")) {
      assertThat(System.nanoTime()).as("%s ends, it is %s", id, state).isLessThan(end);
      state =
          run(admin, "query", "show", id, "--json")
              .expectSuccess()
              .json()
              .get(0)
              .path("state")
              .asText();
      assertThat(state).isNotIn("failed", "stopped");
      Thread.sleep(200);
    }
  }

  private List<JsonNode> rows(String token, String id) {
    return run(token, "query", "results", id, "--json").expectSuccess().json();
  }
}
