package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.control.ProgressListener;
import io.tapline.control.embedded.EmbeddedOptions;
import io.tapline.control.embedded.EmbeddedPipeline;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.testing.Await;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Tests queries on real Kafka, Flink and Redis servers, on a host where the monitor program is
 * missing: each query is accepted, then fails for this reason.
 */
class PipelineTest {
  private static final String QUERIES = "/api/v1/queries";
  private static EmbeddedPipeline pipeline;
  private static RestServer server;
  private static Rest rest;

  @BeforeAll
  static void start() throws Exception {
    EmbeddedOptions options =
        EmbeddedOptions.of(
            Path.of("/nowhere/tapline-monitor"),
            Catalogue.fromJson(StoredQueries.CATALOGUE),
            Inventory.empty());
    pipeline = EmbeddedPipeline.start(options, ProgressListener.SILENT);
    Source source = Source.files(List.of(Path.of("some.pcap")), "max");
    server = RestServer.start(pipeline.queries(), source, RestOptions.loopback(0));
    rest = new Rest(server.port());
  }

  @AfterAll
  static void stop() throws Exception {
    server.close();
    pipeline.close();
  }

  private static HttpResponse<String> submit() throws Exception {
    return rest.post(QUERIES, "text/plain", StoredQueries.QUERY);
  }

  private static JsonNode awaitEnd(String location) throws Exception {
    Await.until(
        location + " ends",
        Duration.ofSeconds(60),
        () -> Rest.json(rest.get(location)).path("ended_ns").asLong() > 0);
    return Rest.json(rest.get(location));
  }

  @Test
  void theServerIsReady() throws Exception {
    HttpResponse<String> ready = rest.get("/readyz");
    assertThat(ready.statusCode()).as(ready.body()).isEqualTo(200);
  }

  @Test
  void aQueryIsAcceptedAndReportsWhyItFailed() throws Exception {
    HttpResponse<String> created = submit();
    assertThat(created.statusCode()).as(created.body()).isEqualTo(201);
    JsonNode query = Rest.json(created);
    String location = created.headers().firstValue("Location").orElseThrow();
    assertThat(location).isEqualTo(QUERIES + "/" + query.path("id").asText());
    assertThat(query.path("plan").path("processors").get(0).path("name").asText())
        .isEqualTo("top-k");

    JsonNode ended = awaitEnd(location);
    assertThat(ended.path("state").asText()).isEqualTo("failed");
    assertThat(ended.path("error").asText()).contains("monitor does not exist");
    assertThat(rest.get(location + "/events").body())
        .contains("\"state\":\"failed\"")
        .contains("monitor does not exist");
    assertThat(rest.delete(location).statusCode()).isEqualTo(204);
    assertThat(Rest.json(rest.get(QUERIES)).path("queries").findValuesAsText("id"))
        .contains(query.path("id").asText());
  }

  @Test
  void queriesBeyondTheMaximumAreRejectedWithARetryTime() throws Exception {
    HttpResponse<String> last = submit();
    String location = last.headers().firstValue("Location").orElseThrow();
    // A query takes much longer to start than its request takes, so the slots are soon used up.
    for (int i = 0; i < 50 * EmbeddedOptions.FEW_QUERIES && last.statusCode() == 201; i++) {
      location = last.headers().firstValue("Location").orElseThrow();
      last = submit();
    }
    Rest.problem(last, 429, "too-many-queries");
    assertThat(last.headers().firstValue("Retry-After").orElseThrow()).matches("\\d+");
    assertThat(rest.get("/metrics").body())
        .contains("tapline_queries_rejected_total{reason=\"too_many\"} 1.0");
    awaitEnd(location);
    Await.until(
        "slots are free again",
        Duration.ofSeconds(60),
        () -> pipeline.queries().runningCount() == 0);
    assertThat(submit().statusCode()).isEqualTo(201);
  }
}
