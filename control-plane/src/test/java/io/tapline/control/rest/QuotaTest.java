package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.control.access.Token;
import io.tapline.control.access.TokenFile;
import java.io.InputStream;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests tenants that exceed their quotas, and the effect on other tenants. */
class QuotaTest {
  private static final String WEB = Token.newSecret();
  private static final String WEB_TOO = Token.newSecret();
  private static final String DATABASE = Token.newSecret();

  @TempDir static Path folder;
  private static StoredQueries stored;
  private final HttpClient client = HttpClient.newHttpClient();

  @BeforeAll
  static void start() throws Exception {
    Path file = folder.resolve("tokens.yaml");
    Files.writeString(
        file,
        "tokens:\n"
            + entry("web", WEB)
            + entry("web", WEB_TOO)
            + entry("db", DATABASE)
            + "tenants:\n"
            + "  web: {requests_per_second: 1}\n"
            + "  db: {event_streams: 2, requests_per_second: 1000}\n");
    stored = new StoredQueries(null, "", RestOptions.loopback(0).with(new TokenFile(file)));
    stored.add("db-1", "running");
  }

  @AfterAll
  static void stop() throws Exception {
    stored.close();
  }

  private static String entry(String tenant, String secret) {
    return "  - {tenant: %s, role: viewer, subnets: [10.0.2.0/24], sha256: %s}\n"
        .formatted(tenant, Token.hash(secret));
  }

  private static HttpResponse<String> list(String token) throws Exception {
    return stored.rest.send(
        stored.rest.request("/api/v1/queries").header("Authorization", "Bearer " + token));
  }

  /**
   * Tests a limit of one request per second for a tenant, which all of its tokens share. Other
   * tenants must not be affected.
   */
  @Test
  void tooManyRequestsAreRejectedWithARetryTime() throws Exception {
    List<HttpResponse<String>> refused = new ArrayList<>();
    for (int i = 0; i < 200 && refused.isEmpty(); i++) {
      HttpResponse<String> response = list(i % 2 == 0 ? WEB : WEB_TOO);
      if (response.statusCode() != 200) {
        refused.add(response);
      }
      assertThat(list(DATABASE).statusCode()).as("another tenant").isEqualTo(200);
    }
    assertThat(refused).hasSize(1);
    Rest.problem(refused.get(0), 429, "too-many-requests");
    assertThat(refused.get(0).headers().firstValue("Retry-After")).hasValue("1");
  }

  private HttpResponse<InputStream> events() throws Exception {
    HttpRequest request =
        stored
            .rest
            .request("/api/v1/queries/db-1/events")
            .header("Authorization", "Bearer " + DATABASE)
            .build();
    return client.send(request, BodyHandlers.ofInputStream());
  }

  @Test
  void aTenantHasAMaximumOfEventStreams() throws Exception {
    try (InputStream first = events().body();
        InputStream second = events().body()) {
      HttpResponse<InputStream> third = events();
      assertThat(third.statusCode()).isEqualTo(429);
      assertThat(new String(third.body().readAllBytes()))
          .contains("too-many-event-streams", "db has 2 open event streams");
      assertThat(first.read()).isPositive();
      assertThat(second.read()).isPositive();
    }
  }
}
