package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.access.Token;
import io.tapline.control.access.TokenFile;
import io.tapline.control.drill.DrillService;
import io.tapline.control.drill.NodeProcess;
import io.tapline.control.testing.Await;
import java.io.OutputStream;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests watches of two teams with the same addresses, on a real node: only its owner and admins can
 * see a watch.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WatchTenancyTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final String OPS = Token.newSecret();
  private static final String WEB = Token.newSecret();
  private static final String WEB_VIEWER = Token.newSecret();
  private static final String DB = Token.newSecret();
  private static final String ALERTING =
      "{\"filter\": \"dst_port == 80\", \"group_by\": [\"src_ip\"], \"when\": \"COUNT > %d\"}";
  private static final String QUIET = "{\"filter\": \"dst_port == 9\"}";

  @TempDir static Path folder;
  private NodeProcess node;
  private DrillService drill;
  private StoredQueries stored;
  private String webs;
  private String dbs;

  @BeforeAll
  void start() throws Exception {
    Path pipe = folder.resolve("packets");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    node = NodeProcess.launch(folder, "h1", pipe);
    drill = new DrillService(List.of(node.address()));
    Await.until("the node answers", TIMEOUT, () -> drill.states().get(0).description() != null);
    Await.until("alerts are received", TIMEOUT, () -> drill.watches().hears("h1"));
    Path file = folder.resolve("tokens.yaml");
    Files.writeString(
        file,
        "tokens:\n"
            + entry("ops", "admin", "", OPS)
            + entry("web", "analyst", "subnets: [0.0.0.0/0], ", WEB)
            + entry("web", "viewer", "subnets: [0.0.0.0/0], ", WEB_VIEWER)
            + entry("db", "analyst", "subnets: [0.0.0.0/0], ", DB)
            + "tenants:\n  db: {watches: 1, requests_per_second: 10000}\n"
            + "  web: {requests_per_second: 10000}\n");
    stored = new StoredQueries(null, "", RestOptions.loopback(0).with(new TokenFile(file)), drill);
    webs = added(WEB, ALERTING.formatted(5));
    added(WEB, QUIET);
    dbs = added(DB, ALERTING.formatted(20));
    try (OutputStream packets = Files.newOutputStream(pipe)) {
      packets.write(Files.readAllBytes(NodeProcess.capture("http_small.pcap.zst")));
    }
    Await.until(
        "both are alerted", TIMEOUT, () -> !alerts(WEB, 0).isEmpty() && !alerts(DB, 0).isEmpty());
  }

  @AfterAll
  void stop() throws Exception {
    if (stored != null) {
      stored.close();
    }
    drill.close();
    node.kill();
  }

  private static String entry(String tenant, String role, String furtherText, String secret) {
    return "  - {tenant: %s, role: %s, %ssha256: %s}\n"
        .formatted(tenant, role, furtherText, Token.hash(secret));
  }

  private HttpResponse<String> send(String token, String method, String path, String body)
      throws Exception {
    return stored.rest.send(
        stored
            .rest
            .request(path)
            .header("Authorization", "Bearer " + token)
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString(body)));
  }

  private HttpResponse<String> add(String token, String watch) throws Exception {
    return send(token, "POST", "/api/v1/watches", watch);
  }

  private String added(String token, String watch) throws Exception {
    HttpResponse<String> response = add(token, watch);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(201);
    return Rest.json(response).path("id").asText();
  }

  private JsonNode listed(String token) throws Exception {
    return Rest.json(send(token, "GET", "/api/v1/watches", ""));
  }

  private List<JsonNode> alerts(String token, int after) throws Exception {
    List<JsonNode> alerts = new ArrayList<>();
    Rest.json(send(token, "GET", "/api/v1/alerts?after=" + after, ""))
        .path("alerts")
        .forEach(alerts::add);
    return alerts;
  }

  private static List<String> watchesOf(List<JsonNode> alerts) {
    return alerts.stream().map(alert -> alert.path("watch").asText()).distinct().toList();
  }

  @Test
  void watchesAreVisibleToOwnersAndAdmins() throws Exception {
    assertThat(listed(WEB).path("watches").findValuesAsText("id")).contains(webs).hasSize(2);
    assertThat(listed(WEB_VIEWER)).isEqualTo(listed(WEB));
    assertThat(listed(DB).path("watches").findValuesAsText("id")).containsExactly(dbs);
    assertThat(listed(OPS).path("watches").findValuesAsText("id")).contains(webs, dbs);
  }

  @Test
  void addsAllWatchesOfAListOrNone() throws Exception {
    List<String> previousIds = listed(OPS).path("watches").findValuesAsText("id");
    for (String wrong :
        List.of(
            "{\"filter\": \"dst_port == \"}",
            "{\"filtre\": \"\"}",
            "{\"every_ns\": 5}",
            "7",
            "{\"aggregate\": \"SUM(dst_prt)\"}",
            "{\"nodes\": [\"h9\"]}")) {
      HttpResponse<String> response = add(OPS, "{\"watches\": [%s, %s]}".formatted(QUIET, wrong));
      assertThat(response.statusCode()).as(wrong).isBetween(400, 404);
      assertThat(Rest.json(response).path("detail").asText()).startsWith("watches[1]: ");
    }
    Rest.problem(add(OPS, "{\"watches\": [], \"filter\": \"\"}"), 400, "bad-request");
    Rest.problem(add(OPS, "{\"watches\": []}"), 400, "bad-request");
    String beyondQuota = "{\"watches\": [%s, %s]}".formatted(QUIET, QUIET);
    assertThat(add(DB, beyondQuota).statusCode()).isEqualTo(429);
    assertThat(listed(OPS).path("watches").findValuesAsText("id")).isEqualTo(previousIds);
    JsonNode addedNode =
        Rest.json(
            add(OPS, "{\"watches\": [%s, %s]}".formatted(QUIET, ALERTING.formatted(1 << 30))));
    List<String> names = addedNode.path("watches").findValuesAsText("id");
    assertThat(names).hasSize(2);
    assertThat(addedNode.path("watches").get(1).path("when").asText()).startsWith("COUNT > ");
    assertThat(listed(OPS).path("watches").findValuesAsText("id")).containsAll(names);
    for (String name : names) {
      assertThat(send(OPS, "DELETE", "/api/v1/watches/" + name, "").statusCode()).isEqualTo(204);
    }
  }

  @Test
  void watchesOfOthersAreInvisible() throws Exception {
    JsonNode paths = Rest.json(stored.rest.get("/openapi.json")).path("paths");
    int requests = 0;
    for (Map.Entry<String, JsonNode> path : paths.properties()) {
      if (path.getValue().has("get")) {
        String body = send(DB, "GET", path.getKey().replaceAll("\\{[^}]*}", webs), "").body();
        String echo = webs + ":" + webs;
        assertThat(body.replace("/" + webs, "").replace("no query " + webs, "").replace(echo, ""))
            .as(path.getKey())
            .doesNotContain(webs);
        requests++;
      }
    }
    assertThat(requests).isGreaterThan(10);
    for (String body :
        List.of(
            "{\"filter\": \"bytes < " + webs + "\"}",
            "{\"filter\": \"\", \"when\": \"COUNT > " + webs + "\"}",
            "{\"filter\": \"seq < " + webs + "_seq.SEQ\"}")) {
      Rest.problem(add(DB, body), 400, "drill-rejected");
    }
  }

  /**
   * Tests that filters can't use another team's watch, by its name or those of its outputs, and
   * that the errors do not reveal that it exists.
   */
  @Test
  void noFilterComparesWithAnothersWatch() throws Exception {
    String never = "watch_0";
    for (String form :
        List.of(
            "bytes < %s",
            "bytes < %s.COUNT",
            "%s > 0 || true",
            "bytes > 0 AND NOT bytes + %s - bytes < 3",
            "has(%s)",
            "true) || (bytes < %s")) {
      String refused = drillRefused(form.formatted(webs));
      assertThat(refused.replace(webs, never)).isEqualTo(drillRefused(form.formatted(never)));
    }
    for (String output : List.of("bytes < COUNT", "COUNT > 0", "seq < SEQ")) {
      assertThat(drillRefused(output)).contains("is not a header field");
    }
    Rest.problem(
        add(DB, "{\"filter\": \"bytes < COUNT\", \"when\": \"COUNT > 1\"}"), 400, "drill-rejected");
  }

  private String drillRefused(String filter) throws Exception {
    for (String furtherText :
        List.of("", ", \"aggregate\": \"COUNT\", \"group_by\": [\"src_ip\"]")) {
      Rest.problem(drill(DB, filter, furtherText), 400, "drill-rejected");
    }
    return drill(DB, filter, "").body();
  }

  private HttpResponse<String> drill(String token, String filter, String furtherText)
      throws Exception {
    return send(
        token, "POST", "/api/v1/drilldown", "{\"filter\": \"" + filter + "\"" + furtherText + "}");
  }

  @Test
  void aScopedTeamMayUseTheWholeLanguage() throws Exception {
    int all = rows(OPS, "");
    assertThat(all).isPositive();
    assertThat(rows(DB, "")).isEqualTo(all);
    for (String filter :
        List.of(
            "dst_port = 80 or not (dst_port = 80)",
            "has(bytes) AND bytes >= 0",
            "dst_port in (80, 1..79) || dst_port not in {80, 1..79}")) {
      assertThat(rows(DB, filter)).as(filter).isEqualTo(rows(OPS, filter)).isEqualTo(all);
    }
    assertThat(rows(DB, "dst_port = (80)")).isBetween(1, all - 1);
  }

  @Test
  void anAlertOpensTheHeadersOfItsWindowAndGroup() throws Exception {
    JsonNode alert = alerts(WEB, 0).get(0);
    String id = alert.path("id").asText();
    String client = alert.path("key").path("src_ip").asText();
    JsonNode rows = Rest.json(drillAlert(WEB, id, "")).path("rows");
    // The alert was raised as soon as the condition was met, while the window continued.
    assertThat(rows).hasSizeGreaterThanOrEqualTo(alert.path("value").asInt());
    for (JsonNode row : rows) {
      assertThat(row.path("src_ip").asText()).isEqualTo(client);
      assertThat(row.path("dst_port").asInt()).isEqualTo(80);
      assertThat(row.path("node").asText()).isEqualTo("h1");
      assertThat(row.path("time_ns").asLong())
          .isGreaterThanOrEqualTo(alert.path("window_start_ns").asLong())
          .isLessThan(alert.path("window_end_ns").asLong());
    }
    JsonNode narrowed = Rest.json(drillAlert(WEB, id, ", \"filter\": \"tcp_flags == 2\""));
    assertThat(narrowed.path("rows").size()).isBetween(0, rows.size() - 1);
    JsonNode countedNode = Rest.json(drillAlert(OPS, id, ", \"aggregate\": \"COUNT\""));
    assertThat(countedNode.path("groups").get(0).path("value").asInt()).isEqualTo(rows.size());
    Rest.problem(drillAlert(WEB, id, ", \"from_ns\": 5"), 400, "bad-request");
    for (String unknown : List.of("0-0", "q-20261129-012113-5d1e08-0-00000000000000aa-5")) {
      Rest.problem(drillAlert(WEB, unknown, ""), 404, "not-found");
    }
    String hidden = drillAlert(DB, id, "").body();
    assertThat(hidden.replace(id, "0-0")).isEqualTo(drillAlert(DB, "0-0", "").body());
  }

  @Test
  void aQuerysAlertOpensBothDirectionsOfItsConnections() throws Exception {
    String query = "web-20261129-012113-5d1e08";
    String id = query + "-0-00000000000000aa-5";
    stored.add(query, "finished");
    stored.alert(query, id, "{\"dst_port\": 80}");
    JsonNode rows = Rest.json(drillAlert(WEB, id, ", \"limit\": 100000")).path("rows");
    assertThat(rows).hasSize(rows(WEB, "dst_port == 80 || src_port == 80"));
    assertThat(Rest.problem(drillAlert(DB, id, ""), 404, "not-found").path("detail").asText())
        .startsWith("there is no alert " + id);
    stored.alert(query, id + "0", "{\"url\": \"/a\"}");
    JsonNode problem = Rest.problem(drillAlert(WEB, id + "0", ""), 400, "drill-rejected");
    assertThat(problem.path("detail").asText()).contains("headers do not have the group");
    stored.alert(query, id + "1", "{\"dst_port\": 9}");
    assertThat(Rest.problem(drillAlert(WEB, id + "1", ""), 404, "not-found").toString())
        .contains("the nodes have no headers of alert " + id + "1, whose window is 1970-01-01");
  }

  private HttpResponse<String> drillAlert(String token, String id, String furtherText)
      throws Exception {
    return send(
        token, "POST", "/api/v1/drilldown", "{\"alert\": \"%s\"%s}".formatted(id, furtherText));
  }

  private int rows(String token, String filter) throws Exception {
    HttpResponse<String> response = drill(token, filter, ", \"limit\": 100000");
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Rest.json(response).path("rows").size();
  }

  @Test
  void tenantsCantEndEachOthersWatches() throws Exception {
    String path = "/api/v1/watches/";
    String never = "watch_1";
    HttpResponse<String> refusedResponse = send(DB, "DELETE", path + webs, "");
    Rest.problem(refusedResponse, 404, "not-found");
    assertThat(refusedResponse.body().replace(webs, never))
        .isEqualTo(send(DB, "DELETE", path + never, "").body());
    Rest.problem(send(WEB_VIEWER, "DELETE", path + webs, ""), 403, "forbidden");
    assertThat(listed(WEB).toString()).contains(webs);
    String addedId = added(WEB, QUIET);
    assertThat(send(OPS, "DELETE", path + addedId, "").statusCode()).isEqualTo(204);
  }

  /** Tests lists of alerts that may still grow, since the node may raise more for late windows. */
  @Test
  void alertsAndTheirNumbersAreSeparateForEachOwner() throws Exception {
    for (String token : List.of(WEB, WEB_VIEWER, DB)) {
      List<JsonNode> own = alerts(token, 0);
      assertThat(watchesOf(own)).containsExactly(token.equals(DB) ? dbs : webs);
      assertThat(numbers(own)).isEqualTo(numbersFrom(1, own.size()));
      List<JsonNode> last = alerts(token, own.size() - 1);
      assertThat(last.get(0)).isEqualTo(own.get(own.size() - 1));
      assertThat(numbers(last)).isEqualTo(numbersFrom(own.size(), last.size()));
      List<JsonNode> later = alerts(token, own.size());
      assertThat(numbers(later)).isEqualTo(numbersFrom(own.size() + 1, later.size()));
    }
    int before = alerts(WEB, 0).size() + alerts(DB, 0).size();
    List<JsonNode> all = alerts(OPS, 0);
    assertThat(watchesOf(all)).containsExactlyInAnyOrder(webs, dbs);
    assertThat(all).hasSizeBetween(before, alerts(WEB, 0).size() + alerts(DB, 0).size());
    assertThat(numbers(all)).isSorted().doesNotHaveDuplicates();
  }

  private static List<Long> numbers(List<JsonNode> alerts) {
    return alerts.stream().map(alert -> alert.path("number").asLong()).toList();
  }

  private static List<Long> numbersFrom(long first, int count) {
    return LongStream.range(first, first + count).boxed().toList();
  }

  @Test
  void aTenantHasAMaximumOfWatches() throws Exception {
    JsonNode problem = Rest.problem(add(DB, QUIET), 429, "too-many-watches");
    assertThat(problem.path("detail").asText()).contains("db has 1 watches");
    String addedId = added(WEB, QUIET);
    assertThat(send(WEB, "DELETE", "/api/v1/watches/" + addedId, "").statusCode()).isEqualTo(204);
  }
}
