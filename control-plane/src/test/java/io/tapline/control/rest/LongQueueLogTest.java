package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.StreamEntryID;

/** Tests that requests for bursts read a bounded part of a long log on a real Redis server. */
class LongQueueLogTest {
  private static final String LOG = "tapline:query:long-1:event-log";
  private static final String QUEUES = "/api/v1/queues";
  private static final Pattern CALLS = Pattern.compile("cmdstat_xrange:calls=(\\d+)");
  private static final long ENTRIES = 10_000;

  /** Maximum number of reads per request: 64 pages, and one read that finds no further entries. */
  private static final long MAX_CALLS = 65;

  @TempDir static Path folder;
  private static StoredQueries stored;

  @BeforeAll
  static void start() throws Exception {
    stored = new StoredQueries(null, "", TwoTeams.options(folder, "viewer"));
    stored.add("long-1", "running");
    try (Jedis client = stored.redis.client()) {
      client.hset(
          "tapline:query:long-1",
          "plan",
          "{\"format\": 1, \"query\": \"long-1\", \"parsers\": [\"queue_burst\"]}");
    }
    append(1, ENTRIES);
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  /**
   * Appends entries with one burst each. The burst of entry N begins at 1000 N ns and lasts 500 ns.
   */
  private static void append(long first, long last) {
    try (Jedis client = stored.redis.client();
        Pipeline pipeline = client.pipelined()) {
      for (long number = first; number <= last; number++) {
        String event =
            """
            {"parser": "queue_burst", "src_ip": "10.0.2.5", "src_port": 1, "dst_ip": "10.0.3.7", "dst_port": 2,
             "fields": {"queue": "s1:2", "begin_ns": %d, "duration_ns": 500, "delay_ns": 9, "victims": 1, "lost": 0,
                        "from_client": true, "share": 0.9}}
            """
                .formatted(1000 * number);
        pipeline.xadd(
            LOG, new StreamEntryID(number, 0), Map.of("data", "{\"events\": [" + event + "]}"));
      }
    }
  }

  private static JsonNode queue(String span) throws Exception {
    JsonNode queues =
        Rest.json(
                stored.rest.send(
                    stored
                        .rest
                        .request(QUEUES + span)
                        .header("Authorization", "Bearer " + TwoTeams.ADMIN)
                        .GET()))
            .path("queues");
    assertThat(queues).hasSize(1);
    return queues.get(0);
  }

  private static long calls() {
    try (Jedis client = stored.redis.client()) {
      Matcher matcher = CALLS.matcher(client.info("commandstats"));
      return matcher.find() ? Long.parseLong(matcher.group(1)) : 0;
    }
  }

  @Test
  void aRequestReadsAPartOfTheLog() throws Exception {
    JsonNode all = queue("");
    long previousCalls = calls();
    assertThat(queue("")).isEqualTo(all);
    assertThat(calls() - previousCalls).as("whole log").isBetween(1L, MAX_CALLS);
    assertThat(all.path("bursts").asLong()).isEqualTo(1000);
    assertThat(all.path("incomplete").asBoolean()).isTrue();
    assertThat(all.path("complete_since_ns").asLong())
        .as("after the end of the burst before the earliest reported one")
        .isEqualTo(1000 * (ENTRIES - 1000) + 501);

    previousCalls = calls();
    JsonNode early = queue("?from_ns=200000&to_ns=299999");
    assertThat(calls() - previousCalls).as("an early part").isBetween(1L, 4L);
    assertThat(early.path("bursts").asLong()).isEqualTo(100);
    assertThat(early.path("incomplete").asBoolean()).isFalse();
    assertThat(early.has("complete_since_ns")).isFalse();

    append(ENTRIES + 1, ENTRIES + 3);
    previousCalls = calls();
    assertThat(queue("?from_ns=" + 1000 * (ENTRIES + 1)).path("bursts").asLong()).isEqualTo(3);
    assertThat(calls() - previousCalls).as("entries that were added").isBetween(1L, 4L);

    try (Jedis client = stored.redis.client()) {
      client.xtrim(LOG, ENTRIES - 500, false);
    }
    JsonNode trimmed = queue("?from_ns=0&to_ns=600000");
    assertThat(trimmed.path("incomplete").asBoolean()).as("Redis dropped entries").isTrue();
    assertThat(trimmed.path("complete_since_ns").asLong()).isBetween(500_000L, 600_000L);
  }
}
