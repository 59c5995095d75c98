package io.tapline.control.rest.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.tapline.control.rest.Rest;
import io.tapline.control.rest.StoredQueries;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares the OpenAPI document with the server's real responses. */
class OpenApiTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String EXPLAINED =
      "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k)";
  private static StoredQueries stored;
  private static JsonNode document;

  @BeforeAll
  static void start() throws Exception {
    stored = new StoredQueries();
    stored.add("q-1", "finished");
    stored.window("q-1", 1, 0, 2);
    stored.add("q-2", "running");
    document = Rest.json(stored.rest.get("/openapi.json"));
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  private record Operation(String method, String path, JsonNode description) {}

  private static Map<String, Operation> operations() {
    Map<String, Operation> all = new HashMap<>();
    document
        .path("paths")
        .properties()
        .forEach(
            path ->
                path.getValue()
                    .properties()
                    .forEach(
                        operation ->
                            all.put(
                                operation.getValue().path("operationId").asText(),
                                new Operation(
                                    operation.getKey(), path.getKey(), operation.getValue()))));
    return all;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      value = {
        "submitQuery | - | {\"query\": \"PARSE\"} | 409",
        "listQueries | - | - | 200",
        "getQuery | q-1 | - | 200",
        "getQuery | q-0 | - | 404",
        "stopQuery | q-1 | - | 204",
        "stopQuery | q-2 | - | 202",
        "getResults | q-1 | - | 200",
        "followQuery | q-1 | - | 200",
        "explainQuery | - | {\"query\": \"" + EXPLAINED + "\"} | 200",
        "explainQuery | - | {\"query\": \"PARSE\"} | 400",
        "explainQuery | - | {} | 400",
        "listParsers | - | - | 200",
        "listProcessors | - | - | 200",
        "drillDown | - | {\"filter\": \"dst_port == 80\"} | 503",
        "drillDown | - | {\"filtre\": \"\"} | 400",
        "diagnose | - | {\"program\": \"loss\"} | 404",
        "diagnose | - | {\"program\": \"path\", \"avoid\": [3]} | 503",
        "diagnose | - | {\"program\": \"horoscope\"} | 400",
        "diagnose | - | {\"program\": \"outcast\", \"to\": \"everywhere\"} | 400",
        "listNodes | - | - | 200",
        "getTopology | - | - | 200",
        "listQueues | - | - | 200",
        "getQueue | leaf1 | - | 404",
        "listLinks | - | - | 200",
        "getLink | leaf1 | - | 404",
        "listLinkEvents | - | - | 200",
        "addWatch | - | {\"when\": \"COUNT > 5\"} | 503",
        "addWatch | - | {\"every_ns\": 5} | 400",
        "listWatches | - | - | 200",
        "removeWatch | watch_1 | - | 404",
        "listAlerts | - | - | 200",
        "getDashboard | - | - | 200",
        "getDashboardFile | index-1a_B.js | - | 200",
        "getDashboardFile | index-2.js | - | 404",
        "getOpenApi | - | - | 200",
        "getHealth | - | - | 200",
        "getReadiness | - | - | 503",
        "getMetrics | - | - | 200",
        "getResultMetrics | - | - | 200",
      })
  void everyOperationAnswersAsDocumented(String id, String query, String body, int status)
      throws Exception {
    CALLED.add(id);
    Operation operation = operations().get(id);
    assertThat(operation).as(id).isNotNull();
    HttpResponse<String> response = call(operation, query, body);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
    JsonNode answer = operation.description().path("responses").path(Integer.toString(status));
    assertThat(answer.isMissingNode()).as("response %d of %s is documented", status, id).isFalse();
    if (!answer.has("content")) {
      assertThat(response.body()).isEmpty();
      return;
    }
    String type = response.headers().firstValue("Content-Type").orElseThrow().split(";")[0];
    JsonNode content = answer.path("content").path(type);
    assertThat(content.isMissingNode()).as("%s of %s is documented", type, id).isFalse();
    if (type.endsWith("json")) {
      assertThat(schema(content.path("schema")).validate(Rest.json(response))).isEmpty();
    }
  }

  private static final Set<String> CALLED = new TreeSet<>();

  @AfterAll
  static void noneWasMissed() {
    assertThat(CALLED).isEqualTo(new TreeSet<>(operations().keySet()));
  }

  private static HttpResponse<String> call(Operation operation, String query, String body)
      throws Exception {
    String path = operation.path().replaceAll("\\{(id|file|switch|port)}", String.valueOf(query));
    var request =
        stored
            .rest
            .request(path)
            .method(
                operation.method().toUpperCase(Locale.ROOT),
                body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    if (body != null) {
      request.header("Content-Type", "application/json");
    }
    return stored.rest.send(request);
  }

  private static JsonSchema schema(JsonNode schema) {
    ObjectNode wholeNode = MAPPER.createObjectNode();
    wholeNode.set("allOf", MAPPER.createArrayNode().add(schema));
    wholeNode.set("components", document.path("components"));
    return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(wholeNode);
  }

  @Test
  void referencesResolve() {
    for (JsonNode reference : document.findValues("$ref")) {
      String name = reference.asText().substring("#/components/schemas/".length());
      assertThat(document.path("components").path("schemas").has(name)).as(name).isTrue();
    }
  }

  @Test
  void pathParametersAreDescribed() {
    for (Operation operation : operations().values()) {
      boolean inPath = operation.path().contains("{id}");
      assertThat(operation.description().path("parameters").findValuesAsText("name").contains("id"))
          .as(operation.path())
          .isEqualTo(inPath);
    }
  }

  @Test
  void eventsMatchTheirSchemas() throws Exception {
    String body = stored.rest.get("/api/v1/queries/q-1/events").body();
    String name = "";
    int seen = 0;
    for (String line : body.lines().toList()) {
      if (line.startsWith("event: ")) {
        name =
            switch (line.substring(7)) {
              case "state" -> "StateEvent";
              case "window" -> "WindowEvent";
              default -> "ParserEvents";
            };
      } else if (line.startsWith("data: ")) {
        JsonNode data = MAPPER.readTree(line.substring(6));
        assertThat(schema(Schemas.reference(name)).validate(data)).isEmpty();
        seen++;
      }
    }
    assertThat(seen).isEqualTo(2);
  }
}
