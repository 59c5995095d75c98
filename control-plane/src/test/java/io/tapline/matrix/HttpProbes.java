package io.tapline.matrix;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Probes over HTTPS: the REST interface, metrics and Flink. */
final class HttpProbes {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  private final Cluster cluster;

  HttpProbes(Cluster cluster) {
    this.cluster = cluster;
  }

  /** Tries an operation of the table. */
  void run(String operation, String service, Component client, int port) throws Exception {
    switch (operation) {
      case "list-queries" -> anyToken(client, cluster.leader(), port, "/api/v1/queries");
      case "overview" -> get(client, "jobmanager-1", port, "/overview", "");
      case "upload-jar" -> upload(client, port);
      case "metrics" -> anyToken(client, host(service), port, "/metrics");
      default -> throw new IllegalArgumentException("no probe for " + operation);
    }
  }

  private String host(String service) {
    return switch (service) {
      case "control" -> cluster.leader();
      case "monitor" -> cluster.monitor();
      default -> cluster.multilog();
    };
  }

  private static void anyToken(Component client, String host, int port, String path)
      throws Exception {
    List<String> tokens = new ArrayList<>(client.tokens());
    tokens.add("");
    Refused last = null;
    for (String token : tokens) {
      try {
        get(client, host, port, path, token);
        return;
      } catch (Refused e) {
        last = e;
      }
    }
    throw last;
  }

  private static void get(Component client, String host, int port, String path, String token)
      throws Exception {
    HttpRequest.Builder request = request(host, port, path);
    if (!token.isEmpty()) {
      request.header("Authorization", "Bearer " + token);
    }
    send(client, request.build());
  }

  /** Sends a form without a file. Flink answers with 400 to a client that may upload. */
  private static void upload(Component client, int port) throws Exception {
    send(
        client,
        request("jobmanager-1", port, "/jars/upload")
            .header("Content-Type", "multipart/form-data; boundary=matrix")
            .POST(BodyPublishers.ofString("--matrix--\r\n"))
            .build());
  }

  private static HttpRequest.Builder request(String host, int port, String path) {
    return HttpRequest.newBuilder(URI.create("https://%s:%d%s".formatted(host, port, path)))
        .timeout(TIMEOUT);
  }

  private static void send(Component client, HttpRequest request) throws Exception {
    HttpClient http =
        HttpClient.newBuilder()
            .connectTimeout(TIMEOUT)
            .sslContext(client.tls().context())
            .version(HttpClient.Version.HTTP_1_1)
            .build();
    try {
      int status = http.send(request, BodyHandlers.discarding()).statusCode();
      if (status == 401 || status == 403) {
        throw new Refused("status " + status);
      }
      if (status / 100 != 2 && status != 400) {
        throw new IllegalStateException(request.uri() + " answers " + status);
      }
    } catch (ConnectException e) {
      throw e;
    } catch (IOException e) {
      throw new Refused(String.valueOf(e.getMessage()));
    }
  }
}
