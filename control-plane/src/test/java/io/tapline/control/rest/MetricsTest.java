package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class MetricsTest {
  @Test
  void countsRequestsByRouteAndQueriesByState() throws Exception {
    try (StoredQueries stored = new StoredQueries()) {
      stored.add("q-1", "finished");
      stored.add("q-2", "finished");
      stored.add("q-3", "failed");
      for (String id : List.of("q-1", "q-2", "no-such")) {
        stored.rest.get("/api/v1/queries/" + id);
      }
      stored.rest.get("/guess/1");
      stored.rest.get("/guess/2");
      stored.rest.post("/api/v1/queries", "text/plain", "PARSE");

      List<String> lines = stored.rest.get("/metrics").body().lines().toList();
      assertThat(lines)
          .contains(
              "tapline_queries{state=\"finished\"} 2.0",
              "tapline_queries{state=\"failed\"} 1.0",
              "tapline_queries{state=\"running\"} 0.0",
              "tapline_queries_running 0.0",
              "tapline_queries_submitted_total 0.0",
              "tapline_queries_rejected_total{reason=\"no_data_path\"} 1.0",
              request("/api/v1/queries/{id}", 200, 2),
              request("/api/v1/queries/{id}", 404, 1),
              request("none", 404, 2))
          .anyMatch(line -> line.startsWith("jvm_memory_used_bytes{"))
          .anyMatch(line -> line.startsWith("tapline_http_requests_seconds_sum{"));
    }
  }

  private static String request(String route, int status, int count) {
    return "tapline_http_requests_seconds_count{method=\"GET\",route=\"%s\",status=\"%d\"} %d"
        .formatted(route, status, count);
  }
}
