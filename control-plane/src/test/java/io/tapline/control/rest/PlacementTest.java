package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tests a server that has a network in its inventory and explains where queries are placed. */
class PlacementTest {
  private static final String INVENTORY =
      """
      hosts: {web1: 10.0.1.1, web2: 10.0.1.2, db: 10.0.2.1, spare: 10.0.2.2}
      network:
        switches: {leaf1: [web1, web2], leaf2: [db, spare], spine: []}
        links: [[leaf1, spine], [leaf2, spine]]
        rates_mbps: {web1: 250}
      """;
  private static final String WEB =
      "PARSE http_get FROM * TO web1:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=10, w=10s)";
  private static StoredQueries stored;

  @BeforeAll
  static void start() throws Exception {
    stored = new StoredQueries(null, INVENTORY);
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  private static JsonNode explained(String query) throws Exception {
    return Rest.json(stored.rest.post("/api/v1/explain", "text/plain", query));
  }

  @Test
  void explainShowsSwitchesRulesAndProcesses() throws Exception {
    JsonNode response = explained(WEB);
    JsonNode placement = response.path("placement");
    assertThat(placement.path("rules").path("leaf1").asInt()).isEqualTo(4);
    assertThat(placement.path("rules").has("leaf2")).isFalse();
    assertThat(placement.path("monitors").size()).isEqualTo(1);
    assertThat(placement.path("monitors").get(0).path("host").asText()).startsWith("web");
    assertThat(placement.path("monitors").get(0).path("input_bps").asLong()).isEqualTo(250_000_000);
    assertThat(response.path("plan").path("rules").size()).isEqualTo(4);
    assertThat(response.path("plan").path("monitors").get(0).path("host").asText())
        .isEqualTo(placement.path("monitors").get(0).path("host").asText());
    assertThat(response.path("text").asText())
        .contains("4 rules in 1 switches", "monitor-", "last traffic counters, of 1 of 1 hosts");
  }

  @Test
  void addressesOutsideOfTheNetworkCauseANote() throws Exception {
    JsonNode response = explained(WEB.replace("web1", "192.0.2.1"));
    assertThat(response.has("placement")).isFalse();
    assertThat(response.path("notes").toString())
        .contains("not placed in the inventory's network: no host in the inventory");
  }
}
