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
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests queries over a real capture through the real pipeline, from submission to end. */
@Timeout(120)
class LiveTest {
  private static final String QUERIES = "/api/v1/queries";
  private static final Path ROOT = Path.of(System.getProperty("tapline.root"));
  private static final Path MONITOR = ROOT.resolve("build/bin/tapline-monitor");
  private static final Path CAPTURE = ROOT.resolve("testbed/captures/http_small.pcap.zst");
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static EmbeddedPipeline pipeline;

  @BeforeAll
  static void start() throws Exception {
    assertThat(MONITOR).as("the native programs must be built first: make native").isExecutable();
    String parsers = Files.readString(ROOT.resolve("build/share/tapline/parsers.json"));
    pipeline =
        EmbeddedPipeline.start(
            EmbeddedOptions.of(MONITOR, Catalogue.fromJson(parsers), Inventory.empty()),
            ProgressListener.SILENT);
  }

  @AfterAll
  static void stop() {
    pipeline.close();
  }

  private static RestServer server(String speed) throws Exception {
    return RestServer.start(
        pipeline.queries(), Source.files(List.of(CAPTURE), speed), RestOptions.loopback(0));
  }

  private static String submit(Rest rest) throws Exception {
    String query =
        "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=10000, w=1s, s=1s)";
    HttpResponse<String> created =
        rest.post(QUERIES, "application/json", "{\"query\": \"" + query + "\"}");
    assertThat(created.statusCode()).as(created.body()).isEqualTo(201);
    return created.headers().firstValue("Location").orElseThrow();
  }

  private static void awaitState(Rest rest, String location, String state) throws Exception {
    Await.until(
        location + " is " + state,
        TIMEOUT,
        () -> {
          JsonNode query = Rest.json(rest.get(location));
          assertThat(query.path("error").asText()).isEmpty();
          return query.path("state").asText().equals(state);
        });
  }

  @Test
  void everyRequestOfTheCaptureIsCounted() throws Exception {
    try (RestServer server = server("max")) {
      Rest rest = new Rest(server.port());
      String location = submit(rest);
      String events = rest.get(location + "/events").body();
      assertThat(events)
          .contains("event: window")
          .endsWith("\"state\":\"finished\",\"error\":\"\"}\n\n");

      JsonNode results = Rest.json(rest.get(location + "/results"));
      assertThat(results.path("state").asText()).isEqualTo("finished");
      double counted = 0;
      for (JsonNode row : results.path("rows")) {
        counted += row.path("value").asDouble();
      }
      assertThat(counted).isEqualTo(tuplesOfTheMonitorAlone());
      // tshark counts the same number with tcp.port==80; the other two of the capture's 364 packets
      // use port 81.
      assertThat(results.path("completeness").path("packets_in").asLong()).isEqualTo(362);
    }
  }

  private static long tuplesOfTheMonitorAlone() throws Exception {
    Process monitor =
        new ProcessBuilder(
                MONITOR.toString(),
                "--pcap",
                CAPTURE.toString(),
                "--parser",
                "http_get",
                "--output",
                "json")
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    long tuples;
    try (var lines = monitor.inputReader()) {
      tuples = lines.lines().filter(line -> line.contains("\"dst_port\":80,")).count();
    }
    assertThat(monitor.waitFor()).isZero();
    return tuples;
  }

  @Test
  void aRunningQueryCanBeStopped() throws Exception {
    try (RestServer server = server("1x")) {
      Rest rest = new Rest(server.port());
      String location = submit(rest);
      awaitState(rest, location, "running");
      HttpResponse<String> response = rest.delete(location);
      assertThat(response.statusCode()).isEqualTo(202);
      assertThat(rest.delete(location).statusCode()).isIn(202, 204);
      awaitState(rest, location, "stopped");
      assertThat(rest.delete(location).statusCode()).isEqualTo(204);
      assertThat(rest.get(location + "/results").statusCode()).isEqualTo(200);
    }
  }
}
