package io.tapline.control.rest;

import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.network.NetworkSection;
import io.tapline.control.JobKey;
import io.tapline.control.drill.DrillService;
import io.tapline.control.embedded.EmbeddedOptions;
import io.tapline.control.query.QueryService;
import io.tapline.control.query.monitors.Source;
import io.tapline.control.query.services.Backend;
import io.tapline.control.query.services.KafkaAccess;
import io.tapline.control.query.services.TopicPolicy;
import io.tapline.control.testing.NoFlink;
import io.tapline.control.testing.TestRedis;
import io.tapline.flink.Endpoints;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.StreamEntryID;

/**
 * A REST server over a real Redis server, to which the test writes queries and windows in the
 * format of schema/redis.md. No queries are run.
 */
public final class StoredQueries implements AutoCloseable {
  static final String CATALOGUE =
      """
      {"parsers": [
        {"name": "http_get", "description": "requests", "layer": "application", "main_fields": ["url"],
         "value_field": "bytes", "duration": {"field": "response_time_ns"}, "fields": [
          {"name": "url", "type": "string", "unit": "", "description": "path", "additive": false, "common": false},
          {"name": "bytes", "type": "u64", "unit": "bytes", "description": "size", "additive": true, "common": false},
          {"name": "response_time_ns", "type": "i64", "unit": "ns", "description": "time", "additive": false, "common": false}]},
        {"name": "tcp_conn_time", "description": "connections", "layer": "transport", "main_fields": ["event"],
         "value_field": null, "duration": {"event_field": "event", "start": ["syn"], "end": ["fin", "rst"]}, "fields": [
          {"name": "event", "type": "string", "unit": "", "description": "what", "additive": false, "common": false}]}]}
      """;
  public static final String QUERY =
      "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=10, w=10s)";

  private static final String COMPLETENESS =
      "{\"sampling_rate\":1.0,\"packets_in\":7,\"dropped\":{},\"late\":0}";

  public final TestRedis redis = TestRedis.start();
  public final RestServer server;
  public final Rest rest;
  private final QueryService queries;
  private final Path folder = Files.createTempDirectory("tapline-rest-test-");

  StoredQueries(Source source) throws Exception {
    this(source, "");
  }

  StoredQueries(Source source, String inventory) throws Exception {
    this(source, inventory, RestOptions.loopback(0));
  }

  public StoredQueries(Source source, String inventory, RestOptions options) throws Exception {
    this(source, inventory, options, new DrillService(List.of()));
  }

  StoredQueries(Source source, String inventory, RestOptions options, DrillService drill)
      throws Exception {
    Endpoints endpoints = Endpoints.open("127.0.0.1:" + TestRedis.freePort(), redis.address());
    Backend backend =
        new Backend(
            endpoints,
            "",
            KafkaAccess.withoutLogins(endpoints.kafka()),
            NoFlink.alone(),
            Path.of("no-monitor"),
            List.of(),
            Path.of("no-key"),
            folder,
            TopicPolicy.defaults(),
            EmbeddedOptions.FEW_QUERIES,
            JobKey.random());
    Inventory hosts = inventory.isEmpty() ? Inventory.empty() : Inventory.fromYaml(inventory);
    queries =
        new QueryService(
            backend,
            Catalogue.fromJson(CATALOGUE),
            hosts,
            NetworkSection.fromYaml(inventory, hosts));
    server = RestServer.start(queries, source, drill, options);
    rest = new Rest(server.port());
  }

  public StoredQueries() throws Exception {
    this(null);
  }

  /** Writes a query with two processors. */
  public void add(String id, String state) {
    String plan =
        """
        {"format": 1, "query": "%s", "processors": [{"name": "top-k"}, {"name": "diff-group"}]}
        """
            .formatted(id);
    Map<String, String> fields =
        Map.of(
            "text",
            QUERY,
            "state",
            state,
            "submitted_ns",
            "1763700000000000000",
            "started_ns",
            "1763700001000000000",
            "ended_ns",
            "0",
            "error",
            "",
            "notes",
            "[\"a note\"]",
            "plan",
            plan);
    try (Jedis client = redis.client()) {
      client.hset("tapline:query:" + id, fields);
      client.zadd("tapline:queries", 1763700000000.0, id);
    }
  }

  /** Writes a failed query. */
  public void addFailed(String id, String reason) {
    add(id, "failed");
    try (Jedis client = redis.client()) {
      client.hset("tapline:query:" + id, "error", reason);
    }
  }

  /** Returns the server's URL for commands. */
  public String url() {
    return "http://127.0.0.1:" + server.port();
  }

  public QueryService queries() {
    return queries;
  }

  public void state(String id, String state) {
    try (Jedis client = redis.client()) {
      client.hset("tapline:query:" + id, "state", state);
    }
  }

  /**
   * Writes a window of a processor. The window's number, from 1, determines its time and its entry
   * ID ({@code number-processor}).
   */
  public void window(String id, int number, int processor, int rows) {
    StringBuilder array = new StringBuilder("[");
    for (int rank = 1; rank <= rows; rank++) {
      array.append(rank == 1 ? "" : ",").append(row(id, number, processor, rank, "/" + rank));
    }
    write(id, number, processor, array + "]");
  }

  /** Writes a window of the first processor with one row, for this URL. */
  public void window(String id, int number, String url) {
    write(id, number, 0, "[" + row(id, number, 0, 1, url) + "]");
  }

  /** Writes the first processor's whole-query window, with one alert for this group. */
  public void alert(String id, String alert, String key) {
    long endNs = Long.MAX_VALUE;
    String row =
        "{\"key\": %s, \"window_start_ns\": 0, \"window_end_ns\": %d, \"alert\": {\"id\": \"%s\"}}";
    Map<String, String> fields =
        Map.of(
            "processor",
            "0",
            "name",
            "trigger",
            "window_start_ns",
            "0",
            "window_end_ns",
            Long.toString(endNs),
            "rows",
            "[" + row.formatted(key, endNs, alert) + "]",
            "completeness",
            COMPLETENESS);
    try (Jedis client = redis.client()) {
      client.xadd("tapline:query:" + id + ":windows", StreamEntryID.NEW_ENTRY, fields);
    }
  }

  private static String name(int processor) {
    return processor == 0 ? "top-k" : "diff-group";
  }

  private void write(String id, int number, int processor, String rows) {
    long endNs = number * 1_000_000_000L;
    Map<String, String> fields =
        Map.of(
            "processor",
            Integer.toString(processor),
            "name",
            name(processor),
            "window_start_ns",
            Long.toString(endNs - 1_000_000_000L),
            "window_end_ns",
            Long.toString(endNs),
            "rows",
            rows,
            "completeness",
            COMPLETENESS);
    try (Jedis client = redis.client()) {
      client.xadd("tapline:query:" + id + ":windows", new StreamEntryID(number, processor), fields);
    }
  }

  /** Deletes a window, as if it had exceeded the retention limit. */
  public void dropWindow(String id, int number, int processor) {
    try (Jedis client = redis.client()) {
      client.xdel("tapline:query:" + id + ":windows", new StreamEntryID(number, processor));
    }
  }

  private static String row(String id, int number, int processor, int rank, String url) {
    long endNs = number * 1_000_000_000L;
    return """
    {"query":"%s","processor":"%s","window_start_ns":%d,"window_end_ns":%d,"rank":%d,"key":{"url":"%s"},"value":%d.0,\
    "completeness":%s}\
    """
        .formatted(
            id,
            name(processor),
            endNs - 1_000_000_000L,
            endNs,
            rank,
            url,
            100 - rank,
            COMPLETENESS);
  }

  public void totals(String id, Map<String, String> totals) {
    try (Jedis client = redis.client()) {
      client.hset("tapline:query:" + id + ":totals", totals);
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
    queries.close();
    redis.close();
    Files.delete(folder);
  }
}
