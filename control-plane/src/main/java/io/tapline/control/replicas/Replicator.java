package io.tapline.control.replicas;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Pattern;

/**
 * Copies pages from server to server: GET from the first, PUT to the other, and GET from there to
 * verify the copy. URLs come from traffic, so a page is copied only if its URL is a plain path and
 * the first server serves it with a length of at most {@link #MAX_BYTES}.
 */
final class Replicator {
  static final long MAX_BYTES = 1L << 30;

  private static final Pattern PLAIN = Pattern.compile("(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+");
  private static final int LONGEST_URL = 1024;
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final int OK = 200;

  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(5))
          .build();

  /**
   * Returns true if a URL can be copied: it is a path without query, escapes or names that begin
   * with a dot.
   */
  static boolean isPlain(String url) {
    return url.length() <= LONGEST_URL && PLAIN.matcher(url).matches();
  }

  /** Copies a page and verifies the copy. */
  void copy(String url, WebServer source, WebServer target) throws IOException {
    Path original = Files.createTempFile("tapline-page-", "");
    Path copy = Files.createTempFile("tapline-page-", "");
    try {
      fetch(url, source, original);
      send(url, target, HttpRequest.newBuilder().PUT(BodyPublishers.ofFile(original)));
      fetch(url, target, copy);
      if (Files.mismatch(original, copy) != -1) {
        throw new IOException(
            url + " on " + target.name() + " differs from the file on " + source.name());
      }
    } finally {
      Files.deleteIfExists(original);
      Files.deleteIfExists(copy);
    }
  }

  /** Removes a copy, which need not exist. */
  void remove(String url, WebServer server) throws IOException {
    send(url, server, HttpRequest.newBuilder().DELETE());
  }

  private void fetch(String url, WebServer source, Path file) throws IOException {
    HttpResponse<Path> response =
        exchange(
            request(url, source, HttpRequest.newBuilder().GET()),
            info ->
                info.statusCode() == OK && length(info) <= MAX_BYTES
                    ? BodySubscribers.ofFile(file)
                    : BodySubscribers.replacing(null));
    if (response.statusCode() != OK) {
      throw new IOException(
          source.name() + " answered " + response.statusCode() + " to GET " + url);
    } else if (response.body() == null) {
      throw new IOException(url + " on " + source.name() + " is too long, or of unknown length");
    }
  }

  private static long length(HttpResponse.ResponseInfo info) {
    return info.headers().firstValueAsLong("content-length").orElse(Long.MAX_VALUE);
  }

  private void send(String url, WebServer target, HttpRequest.Builder request) throws IOException {
    HttpRequest ready = request(url, target, request);
    int status = exchange(ready, BodyHandlers.discarding()).statusCode();
    boolean isDeleted = ready.method().equals("DELETE") && status == 404;
    if (status / 100 != 2 && !isDeleted) {
      throw new IOException(
          target.name() + " answered " + status + " to " + ready.method() + " " + url);
    }
  }

  private static HttpRequest request(String url, WebServer server, HttpRequest.Builder request) {
    return request.uri(URI.create("http://" + server.address() + url)).timeout(TIMEOUT).build();
  }

  private <T> HttpResponse<T> exchange(HttpRequest request, HttpResponse.BodyHandler<T> handler)
      throws IOException {
    try {
      return http.send(request, handler);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }
}
