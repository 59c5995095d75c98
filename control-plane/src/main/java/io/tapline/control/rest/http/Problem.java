package io.tapline.control.rest.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A problem document (RFC 9457), the format of every error.
 *
 * @param status HTTP status
 * @param name last part of the type, which is a URN; stable, so that programs can compare it
 * @param title title of the type, the same for all of its problems
 * @param detail error in this request and its remedy
 * @param headers headers of the response
 * @param members extension members
 */
public record Problem(
    int status,
    String name,
    String title,
    String detail,
    Map<String, String> headers,
    Map<String, JsonNode> members) {
  public static final String MEDIA_TYPE = "application/problem+json";
  static final String TYPE_PREFIX = "urn:tapline:problem:";

  public Problem {
    headers = Map.copyOf(headers);
    members = new LinkedHashMap<>(members);
  }

  public static Problem of(int status, String name, String title, String detail) {
    return new Problem(status, name, title, detail, Map.of(), Map.of());
  }

  public static Problem badRequest(String detail) {
    return of(400, "bad-request", "The request is invalid", detail);
  }

  public static Problem notFound(String detail) {
    return of(404, "not-found", "Not found", detail);
  }

  static Problem internal() {
    return of(500, "internal", "Internal error", "a bug in the server: its log has the details");
  }

  public Problem withHeader(String header, String value) {
    Map<String, String> all = new LinkedHashMap<>(headers);
    all.put(header, value);
    return new Problem(status, name, title, detail, all, members);
  }

  Problem withMember(String member, JsonNode value) {
    Map<String, JsonNode> all = new LinkedHashMap<>(members);
    all.put(member, value);
    return new Problem(status, name, title, detail, headers, all);
  }

  /** Wraps the problem in an exception that a handler can throw. */
  public ProblemException asException() {
    return new ProblemException(this);
  }

  /**
   * Returns the document.
   *
   * @param instance path of the request
   */
  public ObjectNode json(String instance) {
    ObjectNode json = Json.object();
    json.put("type", TYPE_PREFIX + name);
    json.put("title", title);
    json.put("status", status);
    json.put("detail", detail);
    json.put("instance", instance);
    members.forEach(json::set);
    return json;
  }
}
