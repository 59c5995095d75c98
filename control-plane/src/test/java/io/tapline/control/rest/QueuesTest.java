package io.tapline.control.rest;

import static io.tapline.control.rest.TwoTeams.ADMIN;
import static io.tapline.control.rest.TwoTeams.WEB;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.StreamEntryID;

/** Tests bursts in queues, from event logs that the test writes to a real Redis server. */
class QueuesTest {
  private static final String QUEUES = "/api/v1/queues";
  private static final String INVENTORY =
      """
      hosts: {web-1: 10.0.2.5, client-1: 10.0.3.7}
      network:
        switches: {leaf1: [web-1], leaf2: [client-1]}
        links: [[leaf1, leaf2]]
        ports: {leaf1: {leaf2: 2, web-1: 1}, leaf2: {leaf1: 1, client-1: 2}}
      """;

  @TempDir static Path folder;
  private static StoredQueries stored;

  @BeforeAll
  static void start() throws Exception {
    stored = new StoredQueries(null, INVENTORY, TwoTeams.options(folder, "viewer"));
    add("ops-1", "five_tuple", "");
    log("ops-1", 1, burst("leaf1:2", 10, 3), burst("leaf1:leaf2", 20, 4));
    log("ops-1", 2, burst("leaf2:2", 30, 5), burst("300:1.0", 40, 6));
    add("web-1", "destination", "{\"switch_name\": \"leaf1\", \"port\": \"2\"}");
    log("web-1", 1, burst("leaf1:2", 15, 7));
    add("web-2", "five_tuple", "{\"switch_name\": \"leaf2\", \"port\": \"1\"}");
    stored.add("web-3", "running");
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  private static void add(String id, String flow, String queues) {
    stored.add(id, "running");
    String plan =
        """
        {"format": 1, "query": "%s", "parsers": ["queue_burst"], "queues": [%s],
         "arguments": [{"parser": "queue_burst", "name": "flow", "value": "%s"}]}
        """
            .formatted(id, queues, flow);
    try (Jedis client = stored.redis.client()) {
      client.hset("tapline:query:" + id, "plan", plan);
    }
  }

  /** Returns an event for a burst of 5 ns. */
  private static String burst(String queue, long beginNs, long victims) {
    return """
        {"parser": "queue_burst", "src_ip": "10.0.2.5", "src_port": 1, "dst_ip": "10.0.3.7", "dst_port": 2,
         "fields": {"queue": "%s", "begin_ns": %d, "duration_ns": 5, "delay_ns": %d, "victims": %d, "lost": 1,
                    "from_client": true, "share": 0.9}}
        """
        .formatted(queue, beginNs, 100 * victims, victims);
  }

  private static void log(String id, int number, String... events) {
    Map<String, String> fields =
        Map.of("data", "{\"events\": [%s]}".formatted(String.join(",", events)));
    try (Jedis client = stored.redis.client()) {
      client.xadd("tapline:query:" + id + ":event-log", new StreamEntryID(number, 0), fields);
    }
  }

  private static HttpResponse<String> send(String token, String path) throws Exception {
    return stored.rest.send(
        stored.rest.request(path).header("Authorization", "Bearer " + token).GET());
  }

  private static List<String> queues(String token, String span) throws Exception {
    List<String> texts = new ArrayList<>();
    for (JsonNode queue : Rest.json(send(token, QUEUES + span)).path("queues")) {
      List<String> queries = new ArrayList<>();
      queue.path("queries").forEach(query -> queries.add(query.asText()));
      texts.add(
          "%s (%s) %d bursts, %d ns, %d victims, %d lost, by %s"
              .formatted(
                  queue.path("queue").asText(),
                  queue.path("neighbour").asText(),
                  queue.path("bursts").asInt(),
                  queue.path("delay_ns").asLong(-1),
                  queue.path("victims").asInt(),
                  queue.path("lost").asInt(),
                  String.join(" and ", queries)));
    }
    return texts;
  }

  @Test
  void everyMeasuredQueueIsListed() throws Exception {
    assertThat(queues(ADMIN, ""))
        .containsExactly(
            "300:1.0 () 1 bursts, 600 ns, 6 victims, 1 lost, by ops-1",
            "leaf1:2 (leaf2) 3 bursts, 700 ns, 14 victims, 3 lost, by web-1 and ops-1",
            "leaf2:1 (leaf1) 0 bursts, -1 ns, 0 victims, 0 lost, by web-2",
            "leaf2:2 (client-1) 1 bursts, 500 ns, 5 victims, 1 lost, by ops-1");
  }

  @Test
  void burstsAreSelectedByTime() throws Exception {
    assertThat(queues(ADMIN, "?from_ns=25&to_ns=29"))
        .containsExactly(
            "300:1.0 () 0 bursts, -1 ns, 0 victims, 0 lost, by ops-1",
            "leaf1:2 (leaf2) 1 bursts, 400 ns, 4 victims, 1 lost, by web-1 and ops-1",
            "leaf2:1 (leaf1) 0 bursts, -1 ns, 0 victims, 0 lost, by web-2",
            "leaf2:2 (client-1) 0 bursts, -1 ns, 0 victims, 0 lost, by ops-1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"from_ns=-1", "to_ns=now", "from_ns=9999999999999999999", "to_ns="})
  void wrongTimesAreErrors(String span) throws Exception {
    assertThat(
            Rest.problem(send(ADMIN, QUEUES + "?" + span), 400, "bad-request")
                .path("detail")
                .asText())
        .contains("nanoseconds since the epoch");
  }

  @Test
  void theBurstsOfAQueueAreFoundByItsNeighbourToo() throws Exception {
    JsonNode byPort = Rest.json(send(ADMIN, QUEUES + "/leaf1/2"));
    assertThat(byPort).isEqualTo(Rest.json(send(ADMIN, QUEUES + "/leaf1/leaf2")));
    assertThat(byPort.path("bursts")).hasSize(3);
    assertThat(byPort.path("bursts").get(0).path("culprits").get(0).path("source").asText())
        .isEqualTo("10.0.2.5:1");
    assertThat(byPort.path("bursts").get(1).path("culprits").get(0).path("source").asText())
        .as("a flow of the query with flow=destination")
        .isEqualTo("*");
    Rest.problem(send(ADMIN, QUEUES + "/leaf1/9"), 400, "drill-rejected");
  }

  @Test
  void aQueueThatPacketsReportNeedNotBeInTheNetwork() throws Exception {
    assertThat(Rest.json(send(ADMIN, QUEUES + "/300/1.0")).path("bursts")).hasSize(1);
    Rest.problem(send(ADMIN, QUEUES + "/leaf3/1"), 400, "drill-rejected");
  }

  @Test
  void aTokenSeesTheQueuesOfItsOwnQueries() throws Exception {
    assertThat(queues(WEB, ""))
        .containsExactly(
            "leaf1:2 (leaf2) 1 bursts, 700 ns, 7 victims, 1 lost, by web-1",
            "leaf2:1 (leaf1) 0 bursts, -1 ns, 0 victims, 0 lost, by web-2");
    assertThat(Rest.json(send(WEB, QUEUES + "/leaf1/2")).path("bursts")).hasSize(1);
    Rest.problem(send(WEB, QUEUES + "/leaf2/2"), 404, "not-found");
  }
}
