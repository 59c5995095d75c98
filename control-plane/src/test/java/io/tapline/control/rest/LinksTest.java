package io.tapline.control.rest;

import static io.tapline.control.rest.TwoTeams.ADMIN;
import static io.tapline.control.rest.TwoTeams.WEB;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.Main;
import io.tapline.control.cli.console.Console;
import java.io.ByteArrayOutputStream;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.StreamEntryID;

/** Tests link loads, computed from windows that the test writes to a real Redis server. */
class LinksTest {
  private static final String LINKS = "/api/v1/links";
  private static final String INVENTORY =
      """
      hosts: {web-1: 10.0.2.5, client-1: 10.0.3.7}
      network:
        switches: {leaf1: [web-1], leaf2: [client-1]}
        links: [[leaf1, leaf2]]
        ports: {leaf1: {leaf2: 2}}
      """;

  @TempDir static Path folder;
  private static StoredQueries stored;

  @BeforeAll
  static void start() throws Exception {
    stored = new StoredQueries(null, INVENTORY, TwoTeams.options(folder, "viewer"));
    add("ops-1", "running", "MAX share switch,port", "AVG bits_per_second switch,port");
    window("ops-1", 1, 0, row("leaf1", "2", "0.25"), row("leaf1", "10", "0.75"));
    window("ops-1", 2, 0, row("leaf1", "2", "0.5"), row("leaf1", "10", "null"));
    window("ops-1", 2, 1, row("leaf1", "2", "4000000"), row("leaf2", null, "0"));
    // These are not link loads: sums of loads, parts of links, other fields, and taps without a
    // switch.
    add("ops-2", "running", "SUM share switch,port", "MAX share switch,seen", "MAX samples switch");
    for (int processor = 0; processor < 3; processor++) {
      window("ops-2", 3, processor, row("sum", "1", "3"));
    }
    add("ops-3", "running", "MAX share switch,port");
    window("ops-3", 3, 0, row(null, null, "0.9"));
    add("web-1", "finished", "MAX share switch,port");
    window("web-1", 1, 0, row("leaf1", "2", "0.125"));
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  /** Writes a link_load query; each processor is given as "AGGREGATE FIELD KEY,KEY". */
  private static void add(String id, String state, String... processors) {
    stored.add(id, state);
    List<String> plans = new ArrayList<>();
    for (String processor : processors) {
      String[] parts = processor.split(" ");
      plans.add(
          """
          {"name": "group", "parser": "link_load", "key": ["%s"], "value": {"field": "%s"}, "aggregate": "%s"}
          """
              .formatted(parts[2].replace(",", "\",\""), parts[1], parts[0]));
    }
    String plan =
        "{\"format\": 1, \"query\": \"%s\", \"processors\": [%s]}"
            .formatted(id, String.join(",", plans));
    try (Jedis client = stored.redis.client()) {
      client.hset("tapline:query:" + id, "plan", plan);
    }
  }

  private static String row(String switchName, String port, String value) {
    return "{\"key\": {\"switch\": %s, \"port\": %s}, \"value\": %s}"
        .formatted(quoted(switchName), quoted(port), value);
  }

  private static String quoted(String text) {
    return text == null ? "null" : '"' + text + '"';
  }

  private static void window(String id, int second, int processor, String... rows) {
    Map<String, String> fields =
        Map.of(
            "processor",
            Integer.toString(processor),
            "name",
            "group",
            "window_start_ns",
            (second - 1) + "000000000",
            "window_end_ns",
            second + "000000000",
            "rows",
            "[" + String.join(",", rows) + "]",
            "completeness",
            "{}");
    try (Jedis client = stored.redis.client()) {
      client.xadd("tapline:query:" + id + ":windows", new StreamEntryID(second, processor), fields);
    }
  }

  private static HttpResponse<String> send(String token, String path) throws Exception {
    return stored.rest.send(
        stored.rest.request(path).header("Authorization", "Bearer " + token).GET());
  }

  private static List<String> links(String token, String path) throws Exception {
    HttpResponse<String> response = send(token, path);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return StreamSupport.stream(Rest.json(response).path("links").spliterator(), false)
        .map(LinksTest::text)
        .toList();
  }

  private static String text(JsonNode link) {
    List<String> loads = new ArrayList<>();
    for (JsonNode load : link.path("loads")) {
      loads.add(
          "%s %s %s of %s at %d"
              .formatted(
                  load.path("statistic").asText(),
                  load.path("field").asText(),
                  load.path("value").asText(),
                  load.path("query").asText(),
                  load.path("window_end_ns").asLong() / 1_000_000_000));
    }
    return "%s:%s (%s) %s"
        .formatted(
            link.path("switch").asText(),
            link.path("port").asText("-"),
            link.path("neighbour").asText("-"),
            String.join(", ", loads));
  }

  @Test
  void theLatestWindowsCountForEachLink() throws Exception {
    assertThat(links(ADMIN, LINKS))
        .containsExactly(
            "leaf1:2 (leaf2) avg bits_per_second 4000000.0 of ops-1 at 2, max share 0.5 of ops-1 at 2",
            "leaf1:10 (-) max share null of ops-1 at 2",
            "leaf2:- (-) avg bits_per_second 0.0 of ops-1 at 2");
  }

  @Test
  void linksAreSelectedBySwitchAndShare() throws Exception {
    assertThat(links(ADMIN, LINKS + "?switch=leaf2"))
        .hasSize(1)
        .first()
        .asString()
        .contains("leaf2");
    assertThat(links(ADMIN, LINKS + "?switch=leaf9")).isEmpty();
    assertThat(links(ADMIN, LINKS + "?min_share=0.5")).hasSize(1);
    assertThat(links(ADMIN, LINKS + "?min_share=0.51")).isEmpty();
    assertThat(links(ADMIN, LINKS + "/leaf1/10")).hasSize(1);
    Rest.problem(send(ADMIN, LINKS + "/leaf1/3"), 404, "not-found");
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "2", "80%25", "NaN", "1e-3", ""})
  void invalidSharesAreErrors(String share) throws Exception {
    assertThat(
            Rest.problem(send(ADMIN, LINKS + "?min_share=" + share), 400, "bad-request")
                .path("detail")
                .asText())
        .contains("a share from 0 to 1");
  }

  @Test
  void aTokenSeesTheLinksOfItsOwnQueries() throws Exception {
    assertThat(links(WEB, LINKS)).containsExactly("leaf1:2 (leaf2) max share 0.125 of web-1 at 1");
    String unknown = send(WEB, LINKS + "/leaf1/9").body();
    assertThat(send(WEB, LINKS + "/leaf1/10").body()).isEqualTo(unknown.replace("9", "10"));
  }

  private static String command(String... arguments) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    Path token = folder.resolve("token");
    try {
      Files.writeString(token, ADMIN);
      assertThat(token.toFile().setReadable(false, false)).isTrue();
      assertThat(token.toFile().setReadable(true, true)).isTrue();
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
    List<String> common =
        List.of("links", "--server", stored.url(), "--token-file", token.toString());
    int exitCode =
        Main.run(
            new Console(out, err, 0, false),
            Stream.concat(common.stream(), Stream.of(arguments)).toArray(String[]::new));
    assertThat(exitCode).as(err.toString(StandardCharsets.UTF_8)).isZero();
    return out.toString(StandardCharsets.UTF_8);
  }

  @Test
  void theCommandShowsATable() {
    assertThat(command().lines().map(line -> line.strip().replaceAll(" {2,}", " | ")))
        .containsExactly(
            "switch | port | neighbour | value | share % | Mb/s | window end (UTC) | query",
            "leaf1 | 2 | leaf2 | avg | - | 4.0 | 1970-01-01 00:00:02 | ops-1",
            "leaf1 | 2 | leaf2 | max | 50.0 | - | 1970-01-01 00:00:02 | ops-1",
            "leaf1 | 10 | - | max | - | - | 1970-01-01 00:00:02 | ops-1",
            "leaf2 | - | - | avg | - | 0.0 | 1970-01-01 00:00:02 | ops-1");
    assertThat(command("--switch", "leaf9")).startsWith("no link has been measured");
    assertThat(command("--json", "--min-share", "0.5").lines()).hasSize(1);
  }
}
