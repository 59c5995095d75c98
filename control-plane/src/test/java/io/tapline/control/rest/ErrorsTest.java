package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.PipelineException;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.rest.http.RequestBody;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that every invalid request gets a problem document that explains the error. */
class ErrorsTest {
  private static final String QUERIES = "/api/v1/queries";
  private static StoredQueries stored;
  private static Rest rest;

  @BeforeAll
  static void start() throws Exception {
    stored = new StoredQueries(Source.files(List.of(Path.of("none.pcap")), "max"));
    stored.add("q-1", "finished");
    rest = stored.rest;
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"query\": | not JSON",
        "'' | not a JSON object",
        "[1] | not a JSON object",
        "{} | \"query\" is missing",
        "{\"query\": 1} | must be a string",
        "{\"qurey\": \"PARSE\"} | unknown member \"qurey\"",
        "{\"query\": \"a\", \"query\": \"b\"} | not JSON",
        "{\"query\": \"a\"} x | not JSON",
      })
  void invalidBodiesAreRejected(String body, String detail) throws Exception {
    for (String path : List.of(QUERIES, "/api/v1/explain")) {
      JsonNode problem =
          Rest.problem(rest.post(path, "application/json", body), 400, "bad-request");
      assertThat(problem.path("detail").asText()).contains(detail);
    }
  }

  @Test
  void invalidUtf8IsRejected() throws Exception {
    HttpRequest.Builder request =
        rest.request(QUERIES)
            .header("Content-Type", "text/plain")
            .POST(HttpRequest.BodyPublishers.ofByteArray(new byte[] {'a', (byte) 0xff}));
    assertThat(Rest.problem(rest.send(request), 400, "bad-request").path("detail").asText())
        .contains("UTF-8");
  }

  @ParameterizedTest
  @ValueSource(strings = {QUERIES, "/api/v1/explain"})
  void errorsInQueriesHaveAPositionAndAReason(String path) throws Exception {
    String query = "PARSE htp_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k)";
    JsonNode problem =
        Rest.problem(rest.post(path, "text/plain; charset=utf-8", query), 400, "query-rejected");
    assertThat(problem.path("errors")).hasSize(1);
    JsonNode error = problem.path("errors").get(0);
    assertThat(error.path("line").asInt()).isEqualTo(1);
    assertThat(error.path("column").asInt()).isEqualTo(7);
    assertThat(error.path("length").asInt()).isEqualTo(7);
    assertThat(error.path("code").asText()).isEqualTo("unknown_name");
    assertThat(error.path("suggestion").asText()).isEqualTo("http_get");
    assertThat(error.path("message").asText()).contains("htp_get");
    assertThat(problem.path("rendered").asText()).contains("^~~~~~~");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/nothing",
        "/assets/nothing.js",
        "/api/v1/queries/no-such",
        "/api/v1/queries/q-1:totals",
        "/api/v1/queries/Q/results"
      })
  void unknownResourcesAreNotFound(String path) throws Exception {
    Rest.problem(rest.get(path), 404, "not-found");
    Rest.problem(rest.delete("/api/v1/queries/no-such"), 404, "not-found");
  }

  @ParameterizedTest
  @CsvSource({
    "PUT, /api/v1/queries, 'POST, GET, HEAD'",
    "POST, /api/v1/queries/q-1, 'GET, HEAD, DELETE'",
    "DELETE, /healthz, 'GET, HEAD'",
    "GET, /api/v1/explain, POST",
    "OPTIONS, /api/v1/explain, POST",
    "BREW, /api/v1/explain, POST",
  })
  void unsupportedMethodsAreRejected(String method, String path, String allow) throws Exception {
    HttpResponse<String> response =
        rest.send(rest.request(path).method(method, HttpRequest.BodyPublishers.noBody()));
    Rest.problem(response, 405, "method-not-allowed");
    assertThat(response.headers().firstValue("Allow")).hasValue(allow);
  }

  @ParameterizedTest
  @ValueSource(strings = {"text/plain", "application/json"})
  void textInAnyScriptIsReturnedUnchanged(String type) throws Exception {
    String query = "PARSE größe_日本";
    String body = type.equals("text/plain") ? query : "{\"query\": \"" + query + "\"}";
    JsonNode problem =
        Rest.problem(rest.post("/api/v1/explain", type, body), 400, "query-rejected");
    assertThat(problem.path("rendered").asText()).contains(query);
  }

  @Test
  void headIsAnsweredAsGetWithoutBody() throws Exception {
    HttpResponse<String> head =
        rest.send(rest.request("/healthz").method("HEAD", HttpRequest.BodyPublishers.noBody()));
    assertThat(head.statusCode()).isEqualTo(200);
    assertThat(head.body()).isEmpty();
    HttpRequest.Builder unknown =
        rest.request(QUERIES + "/no-such").method("HEAD", HttpRequest.BodyPublishers.noBody());
    assertThat(rest.send(unknown).statusCode()).isEqualTo(404);
  }

  @Test
  void bodiesAreBounded() throws Exception {
    String longest = " ".repeat(RequestBody.MAX_BYTES);
    Rest.problem(rest.post(QUERIES, "text/plain", longest), 400, "query-rejected");
    JsonNode problem =
        Rest.problem(rest.post(QUERIES, "text/plain", longest + " "), 413, "content-too-large");
    assertThat(problem.path("detail").asText()).contains("131072 bytes");
  }

  @Test
  void formsAndUntypedBodiesAreRejected() throws Exception {
    JsonNode problem =
        Rest.problem(
            rest.post(QUERIES, "application/x-www-form-urlencoded", "{}"),
            415,
            "unsupported-media-type");
    assertThat(problem.path("detail").asText()).contains("application/json").contains("text/plain");
    HttpRequest.Builder untyped =
        rest.request(QUERIES).POST(HttpRequest.BodyPublishers.ofString("{}"));
    Rest.problem(rest.send(untyped), 415, "unsupported-media-type");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "limit=0 | limit=0",
        "limit=many | limit=many",
        "limit=10001 | 10000",
        "processor=2 | 0 (top-k), 1 (diff-group)",
        "processor=group-sum | 0 (top-k), 1 (diff-group)",
        "after=1 | after=1",
        "after=99999999999999999999-0 | after=99999999999999999999-0",
        "limt=1 | unknown parameter limt: there are processor, limit, after",
        "limit=1&nothing | unknown parameter nothing",
      })
  void invalidParametersAreRejected(String parameter, String detail) throws Exception {
    JsonNode problem =
        Rest.problem(rest.get(QUERIES + "/q-1/results?" + parameter), 400, "bad-request");
    assertThat(problem.path("detail").asText()).contains(detail);
  }

  @Test
  void unknownParametersAreRejected() throws Exception {
    JsonNode problem = Rest.problem(rest.get(QUERIES + "?state=running"), 400, "bad-request");
    assertThat(problem.path("detail").asText())
        .contains("unknown parameter state", "this resource has none");
    for (String path : List.of("/?a=b", "/healthz?x", "/metrics?x=1")) {
      assertThat(rest.get(path).statusCode()).as("others take %s", path).isEqualTo(200);
    }
    String wrong =
        "GET "
            + QUERIES
            + "/q-1/results?limit=%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close";
    assertThat(raw(wrong + "\r\n\r\n")).startsWith("HTTP/1.1 400 ").contains("limit=%zz");
  }

  @Test
  void anUnknownLastEventIdIsRejected() throws Exception {
    HttpRequest.Builder request =
        rest.request(QUERIES + "/q-1/events").header("Last-Event-ID", "x");
    Rest.problem(rest.send(request), 400, "bad-request");
  }

  @ParameterizedTest
  @CsvSource({
    "evil.example, 421",
    "evil.example:80, 421",
    "127.0.0.1.evil.example, 421",
    "localhost.evil.example, 421",
    "192.0.2.1, 421",
    "'', 400",
    "localhost, 200",
    "LOCALHOST:1, 200",
    "[::1]:8080, 200",
    "127.0.0.1, 200"
  })
  void onlyLoopbackHostsAreAccepted(String host, int status) throws Exception {
    String response =
        raw("GET /healthz HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    assertThat(response).startsWith("HTTP/1.1 " + status + " ");
    if (status != 200) {
      assertThat(response).contains("application/problem+json").contains("\"status\":" + status);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "http://evil.example, 403",
    "null, 403",
    "'http://localhost.evil.example', 403",
    "http://localhost:3000, 200",
    "http://127.0.0.1, 200",
    "'http://[::1]:80', 200"
  })
  void rejectsRequestsOfForeignPages(String origin, int status) throws Exception {
    HttpResponse<String> response = rest.send(rest.request("/healthz").header("Origin", origin));
    assertThat(response.statusCode()).isEqualTo(status);
    if (status == 403) {
      Rest.problem(response, 403, "foreign-origin");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "nonsense\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /../../etc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      })
  void malformedRequestsAreRejected(String request) throws Exception {
    String response = raw(request);
    assertThat(response)
        .startsWith("HTTP/1.1 400 ")
        .contains("application/problem+json")
        .contains("\"status\":400");
    assertThat(response).doesNotContain("<html").doesNotContain("Exception");
  }

  @Test
  void endlessHeadersAreRejected() throws Exception {
    String response =
        raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + "x".repeat(9000) + "\r\n\r\n");
    assertThat(response)
        .startsWith("HTTP/1.1 431 ")
        .contains("application/problem+json", "no-store", "default-src 'none'");
  }

  private static String raw(String request) throws Exception {
    try (Socket socket = new Socket("127.0.0.1", stored.server.port())) {
      socket.setSoTimeout(10_000);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }

  @Test
  void responsesHaveSecurityHeaders() throws Exception {
    for (String path : List.of("/healthz", "/nothing", QUERIES)) {
      HttpResponse<String> response = rest.get(path);
      assertThat(response.headers().firstValue("X-Content-Type-Options")).hasValue("nosniff");
      assertThat(response.headers().firstValue("Cache-Control")).hasValue("no-store");
      assertThat(response.headers().firstValue("Content-Security-Policy")).isPresent();
      assertThat(response.headers().firstValue("X-Frame-Options")).hasValue("DENY");
      assertThat(response.headers().firstValue("Referrer-Policy")).hasValue("no-referrer");
      assertThat(response.headers().firstValue("Strict-Transport-Security"))
          .as("sent only with TLS")
          .isEmpty();
      assertThat(response.headers().firstValue("Server")).isEmpty();
      assertThat(response.headers().firstValue("Access-Control-Allow-Origin")).isEmpty();
    }
  }

  @Test
  void aPortInUseIsNamed() {
    RestOptions options = RestOptions.loopback(stored.server.port());
    assertThatThrownBy(() -> RestServer.start(stored.queries(), null, options))
        .isInstanceOfSatisfying(
            PipelineException.class,
            e -> assertThat(e.kind()).isEqualTo(PipelineException.Kind.RESOURCES))
        .hasMessageContaining("port " + stored.server.port())
        .hasMessageContaining("--port");
  }

  @Test
  void anAddressOfAnotherHostIsNamed() {
    assertThatThrownBy(
            () -> RestServer.start(stored.queries(), null, RestOptions.at("192.0.2.1", 0)))
        .isInstanceOf(PipelineException.class)
        .hasMessageContaining("192.0.2.1");
  }
}
