package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.testing.Await;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** Tests a server whose Redis is full, or temporarily unavailable. */
class OutageTest {
  @Test
  void readinessNamesTheUnreachableService() throws Exception {
    try (StoredQueries storedQueries = new StoredQueries();
        Jedis admin = storedQueries.redis.client()) {
      assertThat(notReady(storedQueries)).contains("Kafka does not answer").doesNotContain("Redis");
      Await.until(
          "metrics show it, too",
          Duration.ofSeconds(60),
          () -> storedQueries.rest.get("/metrics").body().contains("ready{service=\"kafka\"} 0.0"));
      assertThat(storedQueries.rest.get("/metrics").body())
          .contains("tapline_service_ready{service=\"redis\"} 1.0");
      admin.configSet("maxmemory", "1");
      assertThat(storedQueries.rest.get("/api/v1/queries").statusCode())
          .as("can be read")
          .isEqualTo(200);
      assertThat(notReady(storedQueries)).contains("Redis accepts no results: OOM");
      storedQueries.redis.close();
      assertThat(notReady(storedQueries)).contains("Redis does not answer");
    }
  }

  private static String notReady(StoredQueries storedQueries) throws Exception {
    return Rest.problem(storedQueries.rest.get("/readyz"), 503, "unavailable")
        .path("detail")
        .asText();
  }

  @Test
  void reportsTheFaultAndRecovers() throws Exception {
    try (StoredQueries storedQueries = new StoredQueries()) {
      Rest rest = storedQueries.rest;
      assertThat(rest.get("/api/v1/queries").statusCode()).isEqualTo(200);
      storedQueries.redis.close();
      for (String path :
          List.of("/api/v1/queries", "/api/v1/queries/q-1", "/api/v1/queries/q-1/events")) {
        HttpResponse<String> response = rest.get(path);
        assertThat(Rest.problem(response, 503, "unavailable").path("detail").asText())
            .contains("Redis");
        assertThat(response.headers().firstValue("Retry-After")).isPresent();
      }
      assertThat(rest.get("/healthz").statusCode()).isEqualTo(200);
      assertThat(rest.get("/metrics").body()).contains("tapline_queries{state=\"running\"} NaN");

      storedQueries.redis.launch();
      Await.until(
          "queries are shown again",
          Duration.ofSeconds(10),
          () -> rest.get("/api/v1/queries").statusCode() == 200);
    }
  }
}
