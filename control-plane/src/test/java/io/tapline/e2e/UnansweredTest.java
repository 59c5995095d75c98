package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testing.TestRedis;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.resps.StreamEntry;

/** Counts requests without a response, and compares the counts with the servers' own logs. */
class UnansweredTest {
  private static final Path CAPTURES = Cli.root().resolve("testbed/captures");

  /**
   * A server that answers only some requests, and its log with one JSON object per line and
   * request.
   */
  private enum Outage {
    NGINX_WITH_A_HANGING_UPSTREAM(
        "hanging_small", "http_get", "url", "url", "response_time_ns", "status"),
    RESOLVER_WITH_A_DEAD_UPSTREAM(
        "outage_dns_small", "dns_query", "qname", "name", "answer_time_ns", "answer_count"),
    DATABASE_THAT_STOPS(
        "outage_mysql_small", "mysql_query", "statement", "statement", "response_time_ns", "rows");

    private static final int CLIENT_CLOSED_REQUEST = 499;

    final String capture;
    final String process;
    final String source;
    final String key;
    private final String logged;

    Outage(String file, String parser, String key, String logged, String time, String number) {
      this.capture = CAPTURES.resolve(file + ".pcap.zst").toString();
      this.key = key;
      this.logged = logged;
      this.source = file;
      String group = "group=" + key;
      this.process =
          "PARSE "
              + parser
              + " TO * SAMPLE * PROCESS "
              + "(diff-group: %s), (group-avg: %s, by=%s), ".formatted(group, group, time)
              + "(group-min: %s, by=%s), (group-max: %s, by=%s), "
                  .formatted(group, time, group, number)
              + "(group-sum: %s, by=response_bytes), ".formatted(group)
              + "(percentile: %s, by=%s), (group-count: %s)".formatted(group, time, group);
    }

    /**
     * Returns, by key, the number of requests in the server's log that were answered or, if {@code
     * wasAnswered} is false, not answered.
     */
    Map<String, Long> count(boolean wasAnswered) throws IOException {
      Map<String, Long> counts = new TreeMap<>();
      for (String line : Files.readAllLines(CAPTURES.resolve(source + ".jsonl"))) {
        JsonNode request = Cli.parse(line);
        boolean was =
            request.has("status")
                ? request.get("status").asInt() != CLIENT_CLOSED_REQUEST
                : request.get("answered").asBoolean();
        counts.merge(request.get(logged).asText(), was == wasAnswered ? 1L : 0L, Long::sum);
      }
      return counts;
    }
  }

  private static final int PROCESSORS = 7;

  @Test
  void theTutorialShowsUnansweredRequests() throws Exception {
    try (Tutorial tutorial = new Tutorial("who-does-not-answer.md", Map.of(), Map.of())) {
      tutorial.run(ignored -> {});
      assertThat(tutorial.sessions()).isEqualTo(3);
    }
  }

  @ParameterizedTest
  @EnumSource
  void everyProcessorAgreesWithTheServersLog(Outage outage) throws Exception {
    List<JsonNode> rows =
        Cli.run("run", outage.process, "--pcap", outage.capture, "--json").expectSuccess().json();
    requireLogged(outage, rows);
  }

  @Test
  void restAndRedisAgree() throws Exception {
    try (TestRedis redis = TestRedis.start();
        Jedis client = redis.client();
        Server server =
            Server.start(
                "--redis",
                redis.address(),
                "--pcap",
                Outage.NGINX_WITH_A_HANGING_UPSTREAM.capture,
                "--pcap",
                Outage.RESOLVER_WITH_A_DEAD_UPSTREAM.capture,
                "--pcap",
                Outage.DATABASE_THAT_STOPS.capture)) {
      for (Outage outage : Outage.values()) {
        String id = server.submit(outage.process);
        server.awaitState(id, "finished");
        requireLogged(outage, last(server.rows(id)));
        List<JsonNode> storedNodes = new ArrayList<>();
        for (StreamEntry entry : client.xrange("tapline:query:" + id + ":windows", "-", "+")) {
          Cli.parse(entry.getFields().get("rows")).forEach(storedNodes::add);
        }
        requireLogged(outage, last(storedNodes));
      }
    }
  }

  /**
   * Returns the final rows, without the snapshots that were written while the query was running.
   */
  private static List<JsonNode> last(List<JsonNode> rows) {
    Predicate<JsonNode> whole = row -> !row.path("partial").asBoolean();
    return rows.stream().filter(whole).toList();
  }

  private static void requireLogged(Outage outage, List<JsonNode> rows) throws IOException {
    Map<String, Long> answered = outage.count(true);
    Map<String, Long> unanswered = outage.count(false);
    int count = 0;
    for (JsonNode row : rows) {
      String key = row.at("/key/" + outage.key).asText();
      assertThat(row.at("/completeness/unanswered").asLong())
          .isEqualTo(unanswered.values().stream().mapToLong(Long::longValue).sum());
      assertThat(row.get("half_seen").asLong()).isZero();
      // Logins and settings are MySQL commands, too, but are missing from the statement log.
      if (!unanswered.containsKey(key)) {
        assertThat(outage).isEqualTo(Outage.DATABASE_THAT_STOPS);
        continue;
      }
      count++;
      assertThat(row.get("unanswered").asLong()).as(row.toString()).isEqualTo(unanswered.get(key));
      boolean counts = row.get("processor").asText().equals("group-count");
      assertThat(row.get("value").isNull()).isEqualTo(!counts && answered.get(key) == 0);
      if (row.has("distribution")) {
        assertThat(row.at("/distribution/count").asLong()).isEqualTo(answered.get(key));
      }
      if (counts) {
        assertThat(row.get("value").asLong()).isEqualTo(answered.get(key) + unanswered.get(key));
      }
    }
    assertThat(count).isEqualTo(PROCESSORS * unanswered.size());
  }
}
