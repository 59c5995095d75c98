package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.testing.Await;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Redis goes away and comes back while the server runs. */
class OutageTest {
  @Test
  void saysSoAndRecovers() throws Exception {
    try (StoredQueries stored = new StoredQueries()) {
      Rest rest = stored.rest;
      assertThat(rest.get("/api/v1/queries").statusCode()).isEqualTo(200);
      stored.redis.close();
      for (String path :
          List.of("/api/v1/queries", "/api/v1/queries/q-1", "/api/v1/queries/q-1/events")) {
        HttpResponse<String> response = rest.get(path);
        assertThat(Rest.problem(response, 503, "unavailable").path("detail").asText())
            .contains("Redis");
        assertThat(response.headers().firstValue("Retry-After")).isPresent();
      }
      assertThat(rest.get("/healthz").statusCode()).isEqualTo(200);
      assertThat(rest.get("/metrics").body()).contains("tapline_queries{state=\"running\"} NaN");

      stored.redis.launch();
      Await.until(
          "queries are shown again",
          Duration.ofSeconds(10),
          () -> rest.get("/api/v1/queries").statusCode() == 200);
    }
  }
}
