package io.tapline.control.rest;

import static io.tapline.control.rest.TwoTeams.ADMIN;
import static io.tapline.control.rest.TwoTeams.WEB;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.Main;
import io.tapline.control.cli.console.Console;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.StreamEntryID;

/** Tests link events, from logs that the test writes to a real Redis server. */
class LinkEventsTest {
  private static final String EVENTS = "/api/v1/links/events";
  private static final long SECOND = 1_000_000_000L;
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String INVENTORY =
      """
      hosts: {web-1: 10.0.2.5, client-1: 10.0.3.7}
      network:
        switches: {leaf1: [web-1], leaf2: [client-1]}
        links: [[leaf1, leaf2]]
        ports: {leaf1: {leaf2: 2}}
      """;

  /** One flow in the subnet of the tenant web, and two flows in other subnets. */
  private static final String FLOWS =
      """
      [["10.0.2.5:80-10.0.3.7:40000/tcp",700000000,690000000,710000000],\
      ["[fd00::1]:5000-[fd00::2]:53/udp",null,1000,null],["10.0.3.7:7-10.0.3.8:0/1",90,80,100]]\
      """;

  @TempDir static Path folder;
  private static StoredQueries stored;

  @BeforeAll
  static void start() throws Exception {
    stored = new StoredQueries(null, INVENTORY, TwoTeams.options(folder, "viewer"));
    add("ops-1", "link_load");
    log("ops-1", 1, event(0, 10, "leaf1", "2", FLOWS), event(0, 30, "leaf1", "10", ""));
    log("ops-1", 2, event(0, 20, "leaf2", "1", "[[\"10.0.3.7:7-10.0.3.8:9/tcp\",5,4,6]]"));
    // Only the second of these events counts, although it has no tuple. The others are from another
    // processor, a tap without a switch, and another parser.
    log(
        "ops-1",
        3,
        event(1, 40, "leaf1", "2", FLOWS),
        withoutTuple("switch=leaf1 port=- side=arrivals", 5));
    log(
        "ops-1",
        4,
        withoutTuple("switch=- port=3", 50),
        "{\"parser\": \"queue_burst\", \"fields\": {}}");
    add("ops-2", "http_get");
    log("ops-2", 1, event(0, 60, "leaf1", "2", FLOWS));
    add("web-1", "link_load");
    log("web-1", 1, event(0, 15, "leaf1", "2", ""));
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  /**
   * Writes a query with two triggers. The first evaluates the given parser's tuples, and the second
   * evaluates tuples of http_get.
   */
  private static void add(String id, String parser) {
    stored.add(id, "running");
    String plan =
        """
        {"format": 1, "query": "%s", "processors":
         [{"name": "trigger", "parser": "%s"}, {"name": "trigger", "parser": "http_get"}]}
        """;
    try (Jedis client = stored.redis.client()) {
      client.hset("tapline:query:" + id, "plan", plan.formatted(id, parser));
    }
  }

  private static String event(int trigger, int second, String switchName, String port, String flows)
      throws IOException {
    ObjectNode tuple =
        MAPPER
            .createObjectNode()
            .put("switch", switchName)
            .put("port", port)
            .putNull("side")
            .put("share", 0.95)
            .put("low_share", 0.9)
            .put("bits_per_second", 950_000_000)
            .put("low_bits_per_second", 900_000_000)
            .put("mirror_state", "steady");
    if (!flows.isEmpty()) {
      tuple.put("flows", flows).put("flows_left_out", 4);
    }
    ObjectNode fields = fields(trigger, second).put("tuple", MAPPER.writeValueAsString(tuple));
    return json(fields.put("group", "switch=%s port=%s".formatted(switchName, port)));
  }

  private static String withoutTuple(String group, int second) throws IOException {
    return json(fields(0, second).put("group", group).putNull("tuple"));
  }

  private static ObjectNode fields(int trigger, int second) {
    return MAPPER
        .createObjectNode()
        .put("trigger", trigger)
        .put("value", 0.95)
        .put("low", 0.95)
        .putNull("high")
        .put("window_start_ns", second * SECOND)
        .put("window_end_ns", second * SECOND + 1_000_000)
        .put("certain", true)
        .put("incomplete", false)
        .put("ready_ns", second * SECOND);
  }

  private static String json(ObjectNode fields) throws IOException {
    ObjectNode event = MAPPER.createObjectNode().put("parser", "trigger");
    event.put("made_ns", fields.path("ready_ns").asLong() + 400_000).set("fields", fields);
    return MAPPER.writeValueAsString(event);
  }

  private static void log(String id, int number, String... events) {
    String data = "{\"events\": [%s]}".formatted(String.join(",", events));
    try (Jedis client = stored.redis.client()) {
      client.xadd(
          "tapline:query:" + id + ":event-log", new StreamEntryID(number, 0), Map.of("data", data));
    }
  }

  private static HttpResponse<String> send(String token, String parameters) throws Exception {
    return stored.rest.send(
        stored.rest.request(EVENTS + parameters).header("Authorization", "Bearer " + token).GET());
  }

  private static JsonNode get(String token, String parameters) throws Exception {
    HttpResponse<String> response = send(token, parameters);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Rest.json(response);
  }

  private static List<String> events(String token, String parameters) throws Exception {
    List<String> texts = new ArrayList<>();
    for (JsonNode event : get(token, parameters).path("events")) {
      texts.add(
          "%d %s:%s%s by %s, %s flows"
              .formatted(
                  event.path("time_ns").asLong() / SECOND,
                  event.path("switch").asText(),
                  event.path("port").asText("-"),
                  event.has("neighbour") ? " to " + event.path("neighbour").asText() : "",
                  event.path("query").asText("-"),
                  event.has("flows") ? "" + event.path("flows").size() : "no"));
    }
    return texts;
  }

  @Test
  void theLatestEventsComeFirst() throws Exception {
    assertThat(events(ADMIN, ""))
        .containsExactly(
            "30 leaf1:10 by ops-1, no flows",
            "20 leaf2:1 by ops-1, 1 flows",
            "15 leaf1:2 to leaf2 by web-1, no flows",
            "10 leaf1:2 to leaf2 by ops-1, 3 flows",
            "5 leaf1:- by ops-1, no flows");
    assertThat(get(ADMIN, "").path("incomplete").asBoolean()).isFalse();
  }

  @Test
  void anEventHasTheLoadAndTheFlowsOfItsLink() throws Exception {
    JsonNode event = get(ADMIN, "?from_ns=10000000000&to_ns=10000000000").path("events").path(0);
    assertThat(event)
        .isEqualTo(
            MAPPER.readTree(
                """
                {"switch": "leaf1", "port": "2", "neighbour": "leaf2", "time_ns": 10000000000,
                 "seen_ns": 10000400000, "value": 0.95, "low": 0.95, "window_start_ns": 10000000000,
                 "window_end_ns": 10001000000, "certain": true, "incomplete": false,
                 "share": 0.95, "low_share": 0.9, "bits_per_second": 950000000,
                 "low_bits_per_second": 900000000, "mirror_state": "steady",
                 "flows": [
                  {"src_ip": "10.0.2.5", "src_port": 80, "dst_ip": "10.0.3.7", "dst_port": 40000,
                   "protocol": "tcp", "bits_per_second": 700000000,
                   "low_bits_per_second": 690000000, "high_bits_per_second": 710000000},
                  {"src_ip": "fd00::1", "src_port": 5000, "dst_ip": "fd00::2", "dst_port": 53,
                   "protocol": "udp", "low_bits_per_second": 1000},
                  {"src_ip": "10.0.3.7", "src_port": 7, "dst_ip": "10.0.3.8", "dst_port": 0,
                   "protocol": "1", "bits_per_second": 90, "low_bits_per_second": 80,
                   "high_bits_per_second": 100}],
                 "flows_left_out": 4, "query": "ops-1", "processor": 0}
                """));
  }

  @Test
  void eventsAreSelectedByLinkAndTime() throws Exception {
    assertThat(events(ADMIN, "?switch=leaf2")).containsExactly("20 leaf2:1 by ops-1, 1 flows");
    assertThat(events(ADMIN, "?switch=leaf1&port=10")).hasSize(1);
    assertThat(events(ADMIN, "?switch=leaf9")).isEmpty();
    assertThat(events(ADMIN, "?from_ns=15000000000&to_ns=20000000000")).hasSize(2);
    assertThat(events(ADMIN, "?from_ns=20000000001")).hasSize(1);
  }

  @Test
  void aLimitOmitsTheEarliestEvents() throws Exception {
    JsonNode response = get(ADMIN, "?limit=2");
    assertThat(response.path("events").findValuesAsText("time_ns"))
        .containsExactly("30000000000", "20000000000");
    assertThat(response.path("incomplete").asBoolean()).isTrue();
    assertThat(response.path("complete_since_ns").asLong()).isEqualTo(15 * SECOND + 1);
  }

  @Test
  void aRestrictedTokenSeesItsQueriesAndItsFlowsOfOthers() throws Exception {
    assertThat(events(WEB, ""))
        .containsExactly(
            "15 leaf1:2 to leaf2 by web-1, no flows", "10 leaf1:2 to leaf2 by -, 1 flows");
    JsonNode other = get(WEB, "?to_ns=10000000000").path("events").path(0);
    assertThat(other.path("flows").path(0).path("src_ip").asText()).isEqualTo("10.0.2.5");
    assertThat(other.path("share").asDouble()).isEqualTo(0.95);
    assertThat(other.has("flows_left_out")).isFalse();
    assertThat(send(WEB, "?switch=leaf2").body())
        .as("a link that its flows do not use")
        .isEqualTo(send(WEB, "?switch=leaf9").body());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"limit=0", "limit=1001", "limit=-1", "limit=ten", "from_ns=1s", "to_ns=-1"})
  void invalidParametersAreErrors(String parameter) throws Exception {
    String detail =
        Rest.problem(send(ADMIN, "?" + parameter), 400, "bad-request").path("detail").asText();
    assertThat(detail).startsWith(parameter + ": it must be a ");
  }

  private static String command(String... arguments) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    Path token = folder.resolve("token");
    Files.writeString(token, ADMIN);
    assertThat(token.toFile().setReadable(false, false)).isTrue();
    assertThat(token.toFile().setReadable(true, true)).isTrue();
    List<String> common =
        List.of("links", "events", "--server", stored.url(), "--token-file", token.toString());
    int exitCode =
        Main.run(
            new Console(out, err, 0, false),
            Stream.concat(common.stream(), Stream.of(arguments)).toArray(String[]::new));
    assertThat(exitCode).as(err.toString(StandardCharsets.UTF_8)).isZero();
    return out.toString(StandardCharsets.UTF_8);
  }

  @Test
  void theCommandShowsEventsWithTheirFlows() throws Exception {
    assertThat(command("--switch", "leaf1").lines())
        .containsExactly(
            "1970-01-01 00:00:30.000 UTC  leaf1:10  95.0 % (90.0 to unknown), 950.0 Mb/s (900.0 to unknown)",
            "1970-01-01 00:00:15.000 UTC  leaf1:2 to leaf2  95.0 % (90.0 to unknown), 950.0 Mb/s (900.0 to unknown)",
            "1970-01-01 00:00:10.000 UTC  leaf1:2 to leaf2  95.0 % (90.0 to unknown), 950.0 Mb/s (900.0 to unknown)",
            "  10.0.2.5:80-10.0.3.7:40000/tcp  700.0 Mb/s (690.0 to 710.0)",
            "  [fd00::1]:5000-[fd00::2]:53/udp  unknown (0.0 to unknown)",
            "  10.0.3.7:7-10.0.3.8:0/1  0.0 Mb/s (0.0 to 0.0)",
            "  and 4 more",
            "1970-01-01 00:00:05.000 UTC  leaf1:arrivals  value 0.95");
    assertThat(command("--limit", "2", "--json").lines()).hasSize(2);
    assertThat(command("--last", "1h")).startsWith("no link events");
  }
}
