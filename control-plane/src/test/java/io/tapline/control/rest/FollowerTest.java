package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Tests a server that follows a leader, and a server without a leader. */
class FollowerTest {
  private final HttpClient http = HttpClient.newHttpClient();

  private HttpResponse<String> send(RestServer server, String method, String path)
      throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + server.port() + path);
    return http.send(
        HttpRequest.newBuilder(uri).method(method, BodyPublishers.ofString("")).build(),
        BodyHandlers.ofString());
  }

  private static RestServer server(StoredQueries storedQueries, Leader leader) throws Exception {
    return RestServer.start(storedQueries.queries(), null, RestOptions.loopback(0).led(leader));
  }

  @Test
  void aFollowerRedirectsToTheLeader() throws Exception {
    try (StoredQueries storedQueries = new StoredQueries();
        RestServer server = server(storedQueries, () -> Optional.of("http://127.0.0.1:1"))) {
      assertThat(send(server, "GET", "/api/v1/queries").statusCode()).isEqualTo(200);
      assertThat(send(server, "GET", "/healthz").statusCode()).isEqualTo(200);
      assertThat(send(server, "GET", "/api/v1/parsers").statusCode()).isEqualTo(200);
      HttpResponse<String> submitted = send(server, "POST", "/api/v1/queries");
      assertThat(submitted.statusCode()).isEqualTo(307);
      assertThat(submitted.body()).contains("not-leading", "http://127.0.0.1:1");
      assertThat(send(server, "GET", "/api/v1/alerts?after=3").headers().firstValue("Location"))
          .contains("http://127.0.0.1:1/api/v1/alerts?after=3");
      assertThat(send(server, "DELETE", "/api/v1/queries/q").statusCode()).isEqualTo(307);
    }
  }

  @Test
  void requestsARetryWithoutALeader() throws Exception {
    try (StoredQueries storedQueries = new StoredQueries();
        RestServer server = server(storedQueries, () -> Optional.of(""))) {
      HttpResponse<String> nodes = send(server, "GET", "/api/v1/nodes");
      assertThat(nodes.statusCode()).isEqualTo(503);
      assertThat(nodes.headers().firstValue("Retry-After")).isPresent();
    }
  }
}
