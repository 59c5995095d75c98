package io.tapline.flink.support;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** A client of a Flink cluster's REST interface. */
public final class FlinkRest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Set<String> ENDS = Set.of("FINISHED", "FAILED", "CANCELED");

  private final HttpClient http = HttpClient.newHttpClient();
  private final String address;

  FlinkRest(String address) {
    this.address = address;
  }

  /** Uploads a jar; returns its ID. */
  public String upload(Path jar) throws Exception {
    String boundary = "tapline-part";
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes(
        ("--"
                + boundary
                + "\r\nContent-Disposition: form-data; name=\"jarfile\"; filename=\"job.jar\"\r\n"
                + "Content-Type: application/x-java-archive\r\n\r\n")
            .getBytes(StandardCharsets.UTF_8));
    body.writeBytes(Files.readAllBytes(jar));
    body.writeBytes(("\r\n--" + boundary + "--\r\n").getBytes(StandardCharsets.UTF_8));
    JsonNode response =
        send(
            request("/jars/upload")
                .header("Content-Type", "multipart/form-data; boundary=" + boundary)
                .POST(HttpRequest.BodyPublishers.ofByteArray(body.toByteArray())));
    return Path.of(response.get("filename").asText()).getFileName().toString();
  }

  /** Runs the uploaded jar with the given job ID; returns the response. */
  public JsonNode run(String jar, String jobId, List<String> arguments) throws Exception {
    var body =
        MAPPER
            .createObjectNode()
            .put("entryClass", "io.tapline.flink.job.QueryJob")
            .put("jobId", jobId);
    arguments.forEach(body.putArray("programArgsList")::add);
    return send(
        request("/jars/" + jar + "/run")
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body.toString())));
  }

  /** Returns a job's state; empty while the cluster does not answer, or if the job is unknown. */
  public String state(String jobId) throws Exception {
    return get("/jobs/" + jobId).path("state").asText();
  }

  public boolean ended(String jobId) throws Exception {
    return ENDS.contains(state(jobId));
  }

  /**
   * Returns a job's number of {@code completed}, {@code restored} or {@code failed} checkpoints.
   */
  public int checkpoints(String jobId, String kind) throws Exception {
    return get("/jobs/" + jobId + "/checkpoints").at("/counts/" + kind).asInt();
  }

  int slots() throws Exception {
    return get("/overview").path("slots-total").asInt();
  }

  /** Returns a response; empty while the cluster does not answer. */
  public JsonNode get(String path) throws Exception {
    try {
      return send(request(path).GET());
    } catch (IOException starting) {
      return MAPPER.createObjectNode();
    }
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(address + path));
  }

  private JsonNode send(HttpRequest.Builder request) throws Exception {
    String body = http.send(request.build(), HttpResponse.BodyHandlers.ofString()).body();
    // While the cluster starts, it responds with plain text.
    return body.startsWith("{") || body.startsWith("[")
        ? MAPPER.readTree(body)
        : MAPPER.createObjectNode();
  }
}
