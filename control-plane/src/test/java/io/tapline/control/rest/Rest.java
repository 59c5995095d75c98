package io.tapline.control.rest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** A REST client. */
public final class Rest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final int port;

  Rest(int port) {
    this.port = port;
  }

  int port() {
    return port;
  }

  public HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).timeout(TIMEOUT);
  }

  public HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return client.send(request.build(), BodyHandlers.ofString());
  }

  public HttpResponse<String> get(String path) throws Exception {
    return send(request(path));
  }

  public HttpResponse<String> post(String path, String type, String body) throws Exception {
    return send(
        request(path).header("Content-Type", type).POST(HttpRequest.BodyPublishers.ofString(body)));
  }

  HttpResponse<String> delete(String path) throws Exception {
    return send(request(path).DELETE());
  }

  /** Opens an event stream. The caller reads it line by line and closes it. */
  public BufferedReader events(String path) throws Exception {
    HttpResponse<InputStream> response =
        client.send(request(path).build(), BodyHandlers.ofInputStream());
    assertThat(response.statusCode()).isEqualTo(200);
    return new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8));
  }

  public static JsonNode json(HttpResponse<String> response) throws Exception {
    return MAPPER.readTree(response.body());
  }

  /** Asserts that a response is a problem document of this type, and returns the document. */
  public static JsonNode problem(HttpResponse<String> response, int status, String name)
      throws Exception {
    assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
    assertThat(response.headers().firstValue("Content-Type")).hasValue("application/problem+json");
    JsonNode problem = json(response);
    assertThat(problem.path("type").asText()).isEqualTo("urn:tapline:problem:" + name);
    assertThat(problem.path("status").asInt()).isEqualTo(status);
    assertThat(problem.path("title").asText()).isNotBlank();
    assertThat(problem.path("detail").asText()).isNotBlank();
    assertThat(problem.path("instance").asText()).isEqualTo(response.uri().getPath());
    assertThat(response.body())
        .doesNotContain("Exception")
        .doesNotContain("\\tat ")
        .doesNotContain("io.tapline");
    return problem;
  }
}
