package io.tapline.control.rest;

import static io.tapline.control.rest.TwoTeams.ADMIN;
import static io.tapline.control.rest.TwoTeams.WEB;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.NodeAddress;
import io.tapline.control.query.monitors.Source;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests how much a team's requests reveal about other teams' hosts, addresses, topics and webhooks.
 * Kafka is not running.
 */
class NamesTenancyTest {
  private static final String INVENTORY =
      """
      hosts:
        web-1: 10.0.2.5
        www-2: [10.0.2.6, 10.0.9.6]
        client-1: 10.0.3.7
      queries:
        spying: PARSE http_get FROM * TO client-1:80 LIMIT 90s SAMPLE * PROCESS (top-k)
        dreaming: PARSE http_get FROM * TO client-9:80 LIMIT 90s SAMPLE * PROCESS (top-k)
        paging: "PARSE http_get TO web-1 PROCESS (trigger: topic=tapline.tuples.db-1)"
      webhooks: [https://ops.example]
      topics: {web: [pager], db: [secret]}
      network:
        switches: {leaf1: [web-1, www-2], leaf2: [client-1]}
        links: [[leaf1, leaf2]]
      """;

  @TempDir static Path folder;
  private static StoredQueries stored;
  private static DrillService drill;

  @BeforeAll
  static void start() throws Exception {
    drill =
        new DrillService(
            List.of(
                new NodeAddress("web-1", "127.0.0.1:1"),
                new NodeAddress("www-2", "127.0.0.1:1"),
                new NodeAddress("client-1", "127.0.0.1:1"),
                new NodeAddress("tap", "127.0.0.1:1")),
            name ->
                switch (name) {
                  case "web-1" -> List.of("10.0.2.5/32");
                  case "www-2" -> List.of("10.0.2.6/32", "10.0.9.6/32");
                  case "client-1" -> List.of("10.0.3.7/32");
                  default -> List.of();
                });
    Source source = Source.files(List.of(Path.of("some.pcap")), "max");
    stored = new StoredQueries(source, INVENTORY, TwoTeams.options(folder, "analyst"), drill);
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
    drill.close();
  }

  private static HttpResponse<String> send(String token, String path, String body)
      throws Exception {
    return stored.rest.send(
        stored
            .rest
            .request(path)
            .header("Authorization", "Bearer " + token)
            .header("Content-Type", body.startsWith("{") ? "application/json" : "text/plain")
            .POST(BodyPublishers.ofString(body)));
  }

  private static String query(String fromTo) {
    return "PARSE http_get " + fromTo + " LIMIT 90s SAMPLE * PROCESS (top-k)";
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "FROM %s TO web-1:80",
        "FROM * TO %s",
        "TO web-1, %s",
        "FROM %s TO *:80",
        "TO web-1 WHERE url != a AND src_ip = %s",
      })
  void hidesWhetherForeignNamesExist(String fromTo) throws Exception {
    for (String path : List.of("/api/v1/explain", "/api/v1/queries")) {
      HttpResponse<String> foreign = send(WEB, path, query(fromTo.formatted("client-1")));
      HttpResponse<String> never = send(WEB, path, query(fromTo.formatted("client-9")));
      Rest.problem(foreign, 400, "query-rejected");
      assertThat(foreign.body()).isEqualTo(never.body().replace("client-9", "client-1"));
      assertThat(foreign.body()).doesNotContain("10.0.3.7", "www-2", "10.0.9.6");
      assertThat(foreign.headers().map().keySet()).isEqualTo(never.headers().map().keySet());
    }
  }

  @Test
  void namedQueriesRevealNothingAboutTheirContents() throws Exception {
    HttpResponse<String> foreign = send(WEB, "/api/v1/explain", "USE spying");
    HttpResponse<String> never = send(WEB, "/api/v1/explain", "USE dreaming");
    assertThat(Rest.problem(foreign, 400, "query-rejected").path("detail").asText())
        .isEqualTo("in the query 'spying': it names something unknown or outside your subnets");
    assertThat(Rest.problem(never, 400, "query-rejected").path("detail").asText())
        .isEqualTo("in the query 'dreaming': it names something unknown or outside your subnets");
    assertThat(foreign.body() + never.body()).doesNotContain("client-");
  }

  @Test
  void addressesOutsideTheTenantsScopeAreNamed() throws Exception {
    HttpResponse<String> response = send(WEB, "/api/v1/explain", query("FROM * TO 10.0.3.7:80"));
    assertThat(Rest.problem(response, 400, "query-rejected").path("detail").asText())
        .isEqualTo("10.0.3.7:80 is outside your subnets");
    assertThat(response.body()).contains("10.0.2.0/24").doesNotContain("client-1");
  }

  /** Tests that only admins see the locations of monitors and switches. */
  @Test
  void aPlanShowsTheNetworkToAuthorizedCallers() throws Exception {
    String text = query("FROM 10.0.3.7 TO web-1:80");
    JsonNode own = Rest.json(send(WEB, "/api/v1/explain", text));
    assertThat(own.path("plan").path("match").path("to").get(0).path("host").asText())
        .isEqualTo("web-1");
    assertThat(own.toString()).doesNotContain("client-1", "leaf", "www-2");
    assertThat(own.has("placement")).isFalse();
    JsonNode all = Rest.json(send(ADMIN, "/api/v1/explain", text));
    assertThat(all.path("text").asText()).contains("leaf1", "monitors");
    assertThat(all.path("placement").path("monitors")).isNotEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "tapline.tuples.db-20261125-101010-abcdef",
        "__consumer_offsets",
        "alerts.db.slow",
        "secret",
        "alerts.webx.slow",
      })
  void foreignTopicsAreForbiddenWithoutALookup(String topic) throws Exception {
    String text = "PARSE http_get TO web-1 PROCESS (trigger: topic=%s)".formatted(topic);
    for (String path : List.of("/api/v1/explain", "/api/v1/queries")) {
      JsonNode problem = Rest.problem(send(WEB, path, text), 400, "query-rejected");
      JsonNode error = problem.path("errors").get(0);
      assertThat(error.path("code").asText()).isEqualTo("forbidden");
      assertThat(error.path("message").asText()).contains("'" + topic + "'");
      assertThat(error.path("expected").asText()).isEqualTo("one of alerts.web.*, pager");
      assertThat(error.path("column").asInt()).isEqualTo(1 + text.indexOf(topic));
    }
  }

  @Test
  void aNamedQueryGivesNoAccessToTopicsOfOthers() throws Exception {
    for (String token : List.of(WEB, ADMIN)) {
      JsonNode problem =
          Rest.problem(send(token, "/api/v1/queries", "USE paging"), 400, "query-rejected");
      assertThat(problem.path("errors").get(0).path("code").asText()).isEqualTo("forbidden");
      assertThat(problem.path("detail").asText()).contains("tapline.tuples.db-1");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "http://127.0.0.1:6379/, forbidden",
    "http://169.254.169.254/latest/meta-data/, forbidden",
    "http://localhost/, forbidden",
    "http://redis:6379/, forbidden",
    "http://ops.example/, forbidden",
    "https://ops.example:8443/, forbidden",
    "http://[::1]/, forbidden",
    "http://2130706433/, type",
    "http://0x7f.1/, type",
    "https://ops.example@169.254.169.254/, type",
  })
  void webhooksThatAreNotListedAreRefused(String url, String code) throws Exception {
    String text = "PARSE http_get TO web-1 PROCESS (trigger: webhook=\"%s\")".formatted(url);
    for (String token : List.of(WEB, ADMIN)) {
      JsonNode problem = Rest.problem(send(token, "/api/v1/queries", text), 400, "query-rejected");
      assertThat(problem.path("errors").get(0).path("code").asText()).isEqualTo(code);
    }
  }

  @Test
  void explainShowsWebhooks() throws Exception {
    JsonNode explained =
        Rest.json(
            send(
                WEB,
                "/api/v1/explain",
                "PARSE http_get TO web-1 PROCESS (trigger: webhook=\"https://OPS.example/a\")"));
    assertThat(explained.path("text").asText())
        .contains("POST https://ops.example/a with each alert, at a public address only");
    assertThat(explained.at("/plan/processors/0/trigger/actions/0/webhook").asText())
        .isEqualTo("https://ops.example/a");
  }

  @Test
  void cannotCheckTopicsWithoutKafka() throws Exception {
    String text = "PARSE http_get TO web-1 PROCESS (trigger: topic=alerts.web.slow)";
    JsonNode problem = Rest.problem(send(WEB, "/api/v1/explain", text), 503, "unavailable");
    assertThat(problem.path("detail").asText())
        .contains("Kafka does not answer", "'alerts.web.slow'")
        .doesNotContain("127.0.0.1");
  }

  @Test
  void nodesOfOthersLookLikeUnknownOnes() throws Exception {
    for (String path : List.of("/api/v1/drilldown", "/api/v1/watches")) {
      String body = "{\"filter\": \"\", \"nodes\": [\"%s\"]}";
      HttpResponse<String> foreign = send(WEB, path, body.formatted("client-1"));
      HttpResponse<String> never = send(WEB, path, body.formatted("client-9"));
      Rest.problem(foreign, 404, "not-found");
      assertThat(foreign.body())
          .isEqualTo(never.body().replace("client-9", "client-1"))
          .contains("known: [web-1, www-2, tap]");
      assertThat(send(ADMIN, path, body.formatted("client-9")).body()).contains("client-1");
    }
    HttpResponse<String> own = send(WEB, "/api/v1/drilldown", "{\"filter\": \"\"}");
    assertThat(own.body()).contains("web-1").doesNotContain("client-1", "10.0.9.6", "10.0.3.7");
    HttpResponse<String> watch = send(WEB, "/api/v1/watches", "{\"filter\": \"\"}");
    assertThat(watch.statusCode()).as(watch.body()).isEqualTo(201);
  }
}
