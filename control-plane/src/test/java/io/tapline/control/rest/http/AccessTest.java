package io.tapline.control.rest.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.access.Token;
import io.tapline.control.access.TokenFile;
import io.tapline.control.rest.Rest;
import io.tapline.control.rest.RestOptions;
import io.tapline.control.rest.StoredQueries;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests each role's rights on every path of a server with tokens. */
class AccessTest {
  private static final String ADMIN = Token.newSecret();
  private static final String WEB = Token.newSecret();
  private static final String WEB_VIEWER = Token.newSecret();
  private static final String DATABASE = Token.newSecret();
  private static final String OLD = Token.newSecret();
  private static final Set<String> OPEN =
      Set.of("/healthz", "/readyz", "/openapi.json", "/", "/assets/web-1");
  private static final String SECRETS = "tapline_";

  @TempDir static Path folder;
  private static StoredQueries stored;
  private static Rest rest;

  @BeforeAll
  static void start() throws Exception {
    Path file = folder.resolve("tokens.yaml");
    Files.writeString(
        file,
        "tokens:\n"
            + entry("ops", "admin", "", ADMIN)
            + entry("web", "analyst", "    subnets: [10.0.2.0/24]\n", WEB)
            + entry("web", "viewer", "    subnets: [10.0.2.0/24]\n", WEB_VIEWER)
            + entry("db", "analyst", "    subnets: [10.0.3.0/24]\n", DATABASE)
            + entry("web", "admin", "    expires: 2026-01-01\n", OLD));
    stored = new StoredQueries(null, "", RestOptions.loopback(0).with(new TokenFile(file)));
    rest = stored.rest;
    for (String id : List.of("web-1", "db-1", "webx-1", "q-1")) {
      stored.add(id, "finished");
      stored.window(id, 1, 0, 3);
    }
  }

  private static String entry(String tenant, String role, String furtherText, String secret) {
    return "  - tenant: %s\n    role: %s\n%s    sha256: %s\n"
        .formatted(tenant, role, furtherText, Token.hash(secret));
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  private static HttpResponse<String> send(String token, String method, String path, String body)
      throws Exception {
    HttpRequest.Builder request =
        rest.request(path)
            .header("Content-Type", "application/json")
            .method(
                method,
                body.isEmpty()
                    ? HttpRequest.BodyPublishers.noBody()
                    : HttpRequest.BodyPublishers.ofString(body));
    if (!token.isEmpty()) {
      request.header("Authorization", "Bearer " + token);
    }
    return rest.send(request);
  }

  private static HttpResponse<String> get(String token, String path) throws Exception {
    return send(token, "GET", path, "");
  }

  /** Returns every operation of the OpenAPI document. */
  private static List<String[]> operations() throws Exception {
    List<String[]> operations = new ArrayList<>();
    JsonNode paths = Rest.json(rest.get("/openapi.json")).path("paths");
    for (Map.Entry<String, JsonNode> path : paths.properties()) {
      for (Map.Entry<String, JsonNode> method : path.getValue().properties()) {
        assertThat(method.getValue().has("security"))
            .as("%s states whether it requires a token", path.getKey())
            .isNotEqualTo(OPEN.contains(path.getKey().replace("{file}", "web-1")));
        operations.add(
            new String[] {
              method.getKey().toUpperCase(java.util.Locale.ROOT),
              path.getKey().replaceAll("\\{[^}]*}", "web-1")
            });
      }
    }
    assertThat(operations).hasSizeGreaterThan(15);
    return operations;
  }

  @Test
  void onlyHealthIsAnsweredWithoutAToken() throws Exception {
    for (String[] operation : operations()) {
      if (OPEN.contains(operation[1])) {
        continue;
      }
      for (String token : List.of("", "tapline_wrong", OLD, Token.hash(ADMIN), ADMIN + "x")) {
        HttpResponse<String> response = send(token, operation[0], operation[1], "{}");
        JsonNode problem = Rest.problem(response, 401, "no-token");
        assertThat(response.headers().firstValue("WWW-Authenticate")).isPresent();
        assertThat(problem.toString()).doesNotContain(SECRETS);
      }
    }
  }

  @Test
  void healthNeedsNoToken() throws Exception {
    assertThat(get("", "/healthz").statusCode()).isEqualTo(200);
    assertThat(get("", "/readyz").statusCode()).as("Kafka is missing").isEqualTo(503);
  }

  @Test
  void aViewerChangesNothing() throws Exception {
    for (String[] operation : operations()) {
      if (!operation[0].equals("GET")) {
        Rest.problem(send(WEB_VIEWER, operation[0], operation[1], "{}"), 403, "forbidden");
      }
    }
    assertThat(get(WEB_VIEWER, "/api/v1/queries/web-1").statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/metrics", "/api/v1/nodes", "/api/v1/topology"})
  void onlyAdminsSeeDataOfAllTenants(String path) throws Exception {
    Rest.problem(get(WEB, path), 403, "forbidden");
    assertThat(get(ADMIN, path).statusCode()).isEqualTo(200);
  }

  @Test
  void queriesOfOthersLookLikeUnknownOnes() throws Exception {
    for (String id : List.of("db-1", "webx-1", "q-1", "web", "web-", "never-1")) {
      String path = "/api/v1/queries/" + id;
      for (String furtherText : List.of("", "/results", "/events")) {
        Rest.problem(get(WEB, path + furtherText), 404, "not-found");
      }
      Rest.problem(send(WEB, "DELETE", path, ""), 404, "not-found");
    }
    assertThat(get(WEB, "/api/v1/queries/web-1/results").body()).contains("\"/1\"");
    assertThat(get(WEB, "/api/v1/queries").body()).contains("web-1").doesNotContain("db-1", "webx");
    assertThat(get(ADMIN, "/api/v1/queries").body()).contains("web-1", "db-1", "webx-1", "q-1");
  }

  @Test
  void queriesBeyondTheSubnetsAreRefused() throws Exception {
    String text =
        "{\"query\": \"PARSE http_get FROM * TO %s:80 LIMIT 90s SAMPLE * PROCESS (top-k)\"}";
    for (String path : List.of("/api/v1/explain", "/api/v1/queries")) {
      for (String place : List.of("10.0.3.5", "10.0.2.0/23", "*", "[::ffff:10.0.2.5]")) {
        HttpResponse<String> response = send(WEB, "POST", path, text.formatted(place));
        assertThat(response.statusCode()).as("%s %s", path, place).isIn(400, 409);
        assertThat(response.body()).doesNotContain("\"plan\"");
      }
    }
    assertThat(send(WEB, "POST", "/api/v1/explain", text.formatted("10.0.2.5")).statusCode())
        .isEqualTo(200);
    assertThat(send(ADMIN, "POST", "/api/v1/explain", text.formatted("*")).statusCode())
        .isEqualTo(200);
    JsonNode plan =
        Rest.json(send(WEB, "POST", "/api/v1/explain", text.formatted("10.0.2.5"))).path("plan");
    assertThat(plan.path("query").asText()).startsWith("web-");
  }

  @Test
  void aRemovedTokenIsRejectedAtOnce() throws Exception {
    Path file = folder.resolve("changing.yaml");
    String first = entry("ops", "admin", "", ADMIN);
    Files.writeString(file, "tokens:\n" + first + entry("db", "admin", "", DATABASE));
    TokenFile tokens = new TokenFile(file);
    assertThat(tokens.find(DATABASE)).isPresent();
    Files.writeString(file, "tokens:\n" + first);
    Files.setLastModifiedTime(file, FileTime.from(Instant.now().plusSeconds(5)));
    assertThat(tokens.find(DATABASE)).isEmpty();
    assertThat(tokens.find(ADMIN)).isPresent();
    Files.writeString(file, "tokens: what");
    Files.setLastModifiedTime(file, FileTime.from(Instant.now().plusSeconds(10)));
    assertThat(tokens.find(ADMIN)).as("an invalid file revokes no rights").isPresent();
  }
}
