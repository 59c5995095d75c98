package io.tapline.control.rest.queries;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.rest.StoredQueries;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class MetricsTest {
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));

  @Test
  void countsRequestsByRouteAndQueriesByState() throws Exception {
    try (StoredQueries storedQueries = new StoredQueries()) {
      storedQueries.add("q-1", "finished");
      storedQueries.add("q-2", "finished");
      storedQueries.add("q-3", "failed");
      for (String id : List.of("q-1", "q-2", "no-such")) {
        storedQueries.rest.get("/api/v1/queries/" + id);
      }
      storedQueries.rest.get("/guess/1");
      storedQueries.rest.get("/guess/2");
      storedQueries.rest.post("/api/v1/queries", "text/plain", "PARSE");

      List<String> lines = storedQueries.rest.get("/metrics").body().lines().toList();
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

  @Test
  void showsTheLatestWindowOfEachProcessorOfRunningQueries() throws Exception {
    try (StoredQueries storedQueries = new StoredQueries()) {
      storedQueries.add("q-1", "running");
      storedQueries.window("q-1", 1, 0, 3);
      storedQueries.window("q-1", 1, 1, 1);
      storedQueries.window("q-1", 2, 0, ResultMetrics.MAX_ROWS + 5);
      storedQueries.add("q-2", "finished");
      storedQueries.window("q-2", 1, 0, 1);

      List<String> lines = storedQueries.rest.get("/metrics/results").body().lines().toList();
      String first = "{query=\"q-1\",processor=\"top-k\",index=\"0\"";
      String second = "{query=\"q-1\",processor=\"diff-group\",index=\"1\"";
      assertThat(lines)
          .contains(
              "tapline_result_window_end_seconds" + first + "} 2.0",
              "tapline_result_window_end_seconds" + second + "} 1.0",
              "tapline_result_packets" + first + "} 7.0",
              "tapline_result_value" + first + ",key=\"/1\"} 99.0",
              "tapline_result_value" + second + ",key=\"/1\"} 99.0")
          .noneMatch(line -> line.contains("q-2"));
      assertThat(lines.stream().filter(line -> line.startsWith("tapline_result_value" + first)))
          .hasSize(ResultMetrics.MAX_ROWS);
    }
  }

  @Test
  void boardsUseExistingMetrics() throws Exception {
    try (StoredQueries storedQueries = new StoredQueries()) {
      storedQueries.rest.get("/healthz");
      String all =
          storedQueries.rest.get("/metrics").body()
              + storedQueries.rest.get("/metrics/results").body();
      Set<String> exported = names(all);
      Set<String> used = new TreeSet<>();
      Path boards = ROOT.resolve("deploy/grafana/boards");
      try (Stream<Path> files = Files.list(boards)) {
        for (Path file : files.toList()) {
          used.addAll(names(Files.readString(file)));
        }
      }
      used.addAll(names(Files.readString(ROOT.resolve("deploy/images/prometheus/alerts.yml"))));
      // Other tests cover metrics from other programs and from TLS servers (TlsTest).
      used.removeIf(name -> name.matches("tapline_(multilog|monitor_|certificate_).*"));
      assertThat(used).hasSizeGreaterThan(5).isSubsetOf(exported);
    }
  }

  private static Set<String> names(String text) {
    return Pattern.compile("\\b(?:tapline|jvm)_[a-z_]+\\b")
        .matcher(text)
        .results()
        .map(MatchResult::group)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static String request(String route, int status, int count) {
    return "tapline_http_requests_seconds_count{method=\"GET\",route=\"%s\",status=\"%d\"} %d"
        .formatted(route, status, count);
  }
}
