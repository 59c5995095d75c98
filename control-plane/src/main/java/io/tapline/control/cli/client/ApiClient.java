package io.tapline.control.cli.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import javax.net.ssl.SSLContext;

/** Client of a server's REST interface; maps problem responses to user-facing errors. */
public final class ApiClient {
  public static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Duration CONNECT = Duration.ofSeconds(5);
  private static final Duration ANSWER = Duration.ofSeconds(30);

  private final String base;
  private final String token;
  private final HttpClient http;

  /**
   * Creates a client.
   *
   * @param token token for a server that requires one; empty for none
   * @param tls TLS context with the trusted authorities
   */
  ApiClient(String server, String token, SSLContext tls) {
    this.token = token;
    this.http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CONNECT)
            .sslContext(tls)
            // A control plane that is not the leader redirects to the leader.
            .followRedirects(HttpClient.Redirect.NORMAL)
            .build();
    this.base = checked(server.endsWith("/") ? server.substring(0, server.length() - 1) : server);
  }

  private static String checked(String server) {
    try {
      URI uri = URI.create(server);
      if (uri.getHost() != null && String.valueOf(uri.getScheme()).matches("https?")) {
        return server;
      }
    } catch (IllegalArgumentException e) {
      // The error is reported below.
    }
    throw new UsageException(
        "'" + server + "' is not a server's URL: give one like http://127.0.0.1:8480");
  }

  /** Returns the path of a query, followed by {@code rest}. */
  public static String query(String id, String rest) {
    return "/api/v1/queries/" + URLEncoder.encode(id, StandardCharsets.UTF_8) + rest;
  }

  public JsonNode get(String path) {
    return json(send(request(path).timeout(ANSWER).GET().build(), BodyHandlers.ofString()));
  }

  public JsonNode post(String path, JsonNode body) {
    HttpRequest request =
        request(path)
            .timeout(ANSWER)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body.toString()))
            .build();
    return json(send(request, BodyHandlers.ofString()));
  }

  /** Posts a request and returns the response, of this media type, as a stream. */
  public InputStream download(String path, JsonNode body, String mediaType) {
    HttpRequest request =
        request(path)
            .header("Content-Type", "application/json")
            .header("Accept", mediaType)
            .POST(HttpRequest.BodyPublishers.ofString(body.toString()))
            .build();
    HttpResponse<InputStream> response = send(request, BodyHandlers.ofInputStream());
    if (response.statusCode() != 200) {
      requireSuccess(response.statusCode(), text(response.body()));
    }
    return response.body();
  }

  public void delete(String path) {
    HttpResponse<String> response =
        send(request(path).timeout(ANSWER).DELETE().build(), BodyHandlers.ofString());
    requireSuccess(response.statusCode(), response.body());
  }

  /**
   * Opens a stream of server-sent events.
   *
   * @param cursor ID of the last event received; empty for none
   */
  InputStream events(String path, String cursor) {
    HttpRequest.Builder request = request(path).header("Accept", "text/event-stream").GET();
    if (!cursor.isEmpty()) {
      request.header("Last-Event-ID", cursor);
    }
    HttpResponse<InputStream> response = send(request.build(), BodyHandlers.ofInputStream());
    if (response.statusCode() != 200) {
      requireSuccess(response.statusCode(), text(response.body()));
    }
    return response.body();
  }

  private static String text(InputStream body) {
    try (body) {
      return new String(body.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      return "";
    }
  }

  private HttpRequest.Builder request(String path) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path));
    return token.isEmpty() ? request : request.header("Authorization", "Bearer " + token);
  }

  private <T> HttpResponse<T> send(HttpRequest request, HttpResponse.BodyHandler<T> handler) {
    try {
      return http.send(request, handler);
    } catch (ConnectException e) {
      throw new Unreachable(
          "no server answers at "
              + base
              + ": start one with tapline server, or name another with --server",
          e);
    } catch (IOException e) {
      throw new Unreachable("no response from the server at " + base + ": " + e, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommandException("interrupted", e);
    }
  }

  private JsonNode json(HttpResponse<String> response) {
    requireSuccess(response.statusCode(), response.body());
    return read(response.body());
  }

  private JsonNode read(String body) {
    try {
      return MAPPER.readTree(body);
    } catch (JsonProcessingException e) {
      throw new CommandException(
          "the program that answers at "
              + base
              + " is not a Tapline server: its response is not JSON",
          e);
    }
  }

  private void requireSuccess(int status, String body) {
    if (status / 100 == 2) {
      return;
    }
    JsonNode problem;
    try {
      problem = MAPPER.readTree(body);
    } catch (JsonProcessingException e) {
      throw new CommandException("the server at " + base + " answered " + status, e);
    }
    if (problem.has("rendered")) {
      throw new RejectedByServer(problem.path("rendered").asText());
    }
    throw new CommandException(
        problem.path("detail").asText("the server at " + base + " answered " + status));
  }

  /** Thrown when the server can't be reached, or the connection breaks. */
  public static final class Unreachable extends CommandException {
    private static final long serialVersionUID = 1L;

    Unreachable(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /** Thrown when the server's compiler rejects the query. */
  public static final class RejectedByServer extends RuntimeException {
    private static final long serialVersionUID = 1L;

    RejectedByServer(String rendered) {
      super(rendered);
    }
  }
}
