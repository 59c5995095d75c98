package io.tapline.control.flink;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.flink.TlsFiles;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Client for the part of a job manager's REST interface that Tapline needs. Thread-safe. */
final class FlinkRest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final int NO_LEADER = 503;
  private static final String BOUNDARY = "tapline-job-jar";

  private final HttpClient http;
  private final URI base;

  /** Creates a client for plain HTTP, or for TLS with the system's authorities. */
  FlinkRest(URI base) {
    this.base = base;
    this.http = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
  }

  /** Creates a client for TLS with these files, if any are given. */
  FlinkRest(URI base, TlsFiles tls) throws IOException {
    HttpClient.Builder client = HttpClient.newBuilder().connectTimeout(TIMEOUT);
    this.base = base;
    this.http = (tls.isNone() ? client : client.sslContext(tls.context())).build();
  }

  /**
   * A response; a body that is not JSON, such as that of a starting job manager, becomes an empty
   * object.
   */
  record Answer(int status, JsonNode body) {
    boolean ok() {
      return status / 100 == 2;
    }

    /**
     * Returns this response if a leading job manager sent it.
     *
     * @throws IOException if no job manager is the leader at the moment; a retry may soon succeed
     */
    Answer decided() throws IOException {
      if (status == NO_LEADER) {
        throw new IOException(fault());
      }
      return this;
    }

    /** Returns the message of the innermost cause in Flink's error response. */
    String fault() {
      String text = body.path("errors").path(0).asText("status " + status);
      String last = body.path("errors").path(1).asText("");
      return rootOf(last.isEmpty() ? text : last);
    }
  }

  /** Returns the message of the innermost cause in the text of a stack trace. */
  static String rootOf(String trace) {
    String cause = "Caused by: ";
    String message = trace.substring(Math.max(0, trace.lastIndexOf(cause)));
    String line = message.startsWith(cause) ? message.substring(cause.length()) : message;
    line = line.lines().findFirst().orElse("").strip();
    return line.replaceFirst("^[\\w.$]+(Exception|Error): ", "");
  }

  Answer get(String path) throws IOException {
    return send("GET", path, BodyPublishers.noBody(), "");
  }

  /** Uploads a jar and returns the ID under which it can be run. */
  String upload(Path jar) throws IOException {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes(
        """
        --%s\r
        Content-Disposition: form-data; name="jarfile"; filename="%s"\r
        Content-Type: application/x-java-archive\r
        \r
        """
            .formatted(BOUNDARY, jar.getFileName())
            .getBytes(StandardCharsets.UTF_8));
    body.writeBytes(Files.readAllBytes(jar));
    body.writeBytes(("\r\n--" + BOUNDARY + "--\r\n").getBytes(StandardCharsets.UTF_8));
    Answer answer =
        send(
            "POST",
            "/jars/upload",
            BodyPublishers.ofByteArray(body.toByteArray()),
            "multipart/form-data; boundary=" + BOUNDARY);
    if (!answer.ok()) {
      throw new IOException("it rejected the job's jar: " + answer.fault());
    }
    return Path.of(answer.body().path("filename").asText()).getFileName().toString();
  }

  /** Returns true if an uploaded jar still exists. */
  boolean has(String jar) throws IOException {
    return get("/jars").decided().body().path("files").findValuesAsText("id").contains(jar);
  }

  Answer run(String jar, String entryClass, String jobId, List<String> arguments)
      throws IOException {
    ObjectNode request = MAPPER.createObjectNode();
    request.put("entryClass", entryClass).put("jobId", jobId);
    arguments.forEach(request.putArray("programArgsList")::add);
    BodyPublisher body = BodyPublishers.ofString(request.toString());
    return send("POST", "/jars/" + jar + "/run", body, "application/json");
  }

  void cancel(String jobId) throws IOException {
    send("PATCH", "/jobs/" + jobId + "?mode=cancel", BodyPublishers.noBody(), "");
  }

  void delete(String jar) throws IOException {
    send("DELETE", "/jars/" + jar, BodyPublishers.noBody(), "");
  }

  private Answer send(String method, String path, BodyPublisher body, String type)
      throws IOException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(base.resolve(path)).timeout(TIMEOUT).method(method, body);
    if (!type.isEmpty()) {
      request.header("Content-Type", type);
    }
    try {
      HttpResponse<String> response = http.send(request.build(), BodyHandlers.ofString());
      return new Answer(response.statusCode(), json(response.body()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while asking " + base, e);
    }
  }

  private static JsonNode json(String text) throws IOException {
    return text.startsWith("{") ? MAPPER.readTree(text) : MAPPER.createObjectNode();
  }
}
