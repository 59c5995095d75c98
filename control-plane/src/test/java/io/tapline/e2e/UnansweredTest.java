package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Requests that nobody answers, against the log of the nginx whose upstream hung. */
class UnansweredTest {
  private static final Path CAPTURES = Cli.root().resolve("testbed/captures");
  private static final int GAVE_UP = 499;

  @Test
  void theTutorialShowsThem() throws Exception {
    try (Tutorial tutorial = new Tutorial("who-does-not-answer.md", Map.of(), Map.of())) {
      tutorial.run(started -> {});
      assertThat(tutorial.sessions()).isEqualTo(3);
    }
  }

  @Test
  void rowsCountWhatTheServersLogSays() throws Exception {
    Map<String, Long> answered = new TreeMap<>();
    Map<String, Long> unanswered = new TreeMap<>();
    for (String line : Files.readAllLines(CAPTURES.resolve("hanging_small.jsonl"))) {
      JsonNode request = new ObjectMapper().readTree(line);
      boolean gaveUp = request.get("status").asInt() == GAVE_UP;
      answered.merge(request.get("url").asText(), gaveUp ? 0L : 1L, Long::sum);
      unanswered.merge(request.get("url").asText(), gaveUp ? 1L : 0L, Long::sum);
    }
    String query =
        "PARSE http_get TO 127.0.0.1:80 SAMPLE * PROCESS (diff-group: group=url),"
            + " (group-min: group=url, by=response_time_ns), (group-max: group=url, by=status),"
            + " (percentile: group=url, by=first_byte_ns), (group-count: group=url)";
    String capture = CAPTURES.resolve("hanging_small.pcap.zst").toString();
    List<JsonNode> rows = Cli.run("run", query, "--pcap", capture, "--json").expectSuccess().json();
    assertThat(rows).hasSize(5 * unanswered.size());
    for (JsonNode row : rows) {
      String url = row.at("/key/url").asText();
      assertThat(row.get("unanswered").asLong()).as(row.toString()).isEqualTo(unanswered.get(url));
      assertThat(row.get("half_seen").asLong()).isZero();
      assertThat(row.at("/completeness/unanswered").asLong())
          .isEqualTo(unanswered.values().stream().mapToLong(Long::longValue).sum());
      boolean counts = row.get("processor").asText().equals("group-count");
      assertThat(row.get("value").isNull()).isEqualTo(!counts && answered.get(url) == 0);
      if (row.has("distribution")) {
        assertThat(row.at("/distribution/count").asLong()).isEqualTo(answered.get(url));
      }
    }
  }
}
