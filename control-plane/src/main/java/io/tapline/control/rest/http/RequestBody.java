package io.tapline.control.rest.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.javalin.http.Context;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * Reads the bodies of requests: JSON objects, and queries as JSON {@code {"query": "…"}} or plain
 * text.
 */
public final class RequestBody {
  public static final int MAX_BYTES = 128 * 1024;
  public static final String TEXT = "text/plain";

  private RequestBody() {}

  /**
   * Returns the query's text.
   *
   * @throws ProblemException 400, 413 or 415
   */
  public static String query(Context ctx) {
    String type = mediaType(ctx.contentType());
    if (!type.equals(Json.MEDIA_TYPE) && !type.equals(TEXT)) {
      throw unsupported(type).asException();
    }
    String text = text(bytes(ctx, MAX_BYTES));
    return type.equals(TEXT) ? text : member(text);
  }

  /**
   * Returns a JSON object that has no members other than these.
   *
   * @throws ProblemException 400, 413 or 415
   */
  public static JsonNode object(Context ctx, Set<String> members) {
    JsonNode body = object(ctx);
    requireMembers(body, members);
    return body;
  }

  /**
   * Returns the body, a JSON object.
   *
   * @throws ProblemException 415 if the body has another type, 413 if it is too long, 400 if it is
   *     not an object
   */
  public static JsonNode object(Context ctx) {
    return object(ctx, MAX_BYTES);
  }

  /** Reads a JSON object from a body of up to {@code maxBytes}. */
  public static JsonNode object(Context ctx, int maxBytes) {
    String type = mediaType(ctx.contentType());
    if (!type.equals(Json.MEDIA_TYPE)) {
      throw Problem.of(
              415,
              "unsupported-media-type",
              "The body's type is not supported",
              (type.isEmpty() ? "no Content-Type" : "Content-Type " + type)
                  + ": send application/json")
          .withHeader("Accept-Post", Json.MEDIA_TYPE)
          .asException();
    }
    JsonNode body = parse(text(bytes(ctx, maxBytes)));
    if (!body.isObject()) {
      throw Problem.badRequest("the body is not a JSON object").asException();
    }
    return body;
  }

  /**
   * Rejects unknown members.
   *
   * @throws ProblemException 400
   */
  public static void requireMembers(JsonNode body, Set<String> members) {
    for (Iterator<String> names = body.fieldNames(); names.hasNext(); ) {
      String name = names.next();
      if (!members.contains(name)) {
        String known = String.join(", ", new TreeSet<>(members));
        throw Problem.badRequest("unknown member \"" + name + "\": expected " + known)
            .asException();
      }
    }
  }

  private static String mediaType(String header) {
    return header == null ? "" : header.split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
  }

  private static Problem unsupported(String type) {
    String got = type.isEmpty() ? "no Content-Type" : "Content-Type " + type;
    return Problem.of(
            415,
            "unsupported-media-type",
            "The body's type is not supported",
            got
                + ": send application/json with {\"query\": \"…\"}, or the query itself as text/plain")
        .withHeader("Accept-Post", Json.MEDIA_TYPE + ", " + TEXT);
  }

  private static byte[] bytes(Context ctx, int maxBytes) {
    byte[] bytes;
    try {
      bytes = ctx.req().getInputStream().readNBytes(maxBytes + 1);
    } catch (IOException e) {
      throw Problem.badRequest("the body ended early: " + e.getMessage()).asException();
    }
    if (bytes.length > maxBytes) {
      String detail = "the body is longer than the maximum of " + maxBytes + " bytes";
      throw Problem.of(413, "content-too-large", "The body is too long", detail).asException();
    }
    return bytes;
  }

  private static String text(byte[] bytes) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw Problem.badRequest("the body is not UTF-8").asException();
    }
  }

  private static String member(String text) {
    JsonNode body = parse(text);
    if (!body.isObject()) {
      throw Problem.badRequest("the body is not a JSON object: send {\"query\": \"…\"}")
          .asException();
    }
    for (Iterator<String> names = body.fieldNames(); names.hasNext(); ) {
      String name = names.next();
      if (!name.equals("query")) {
        throw Problem.badRequest("unknown member \"" + name + "\": the only one is \"query\"")
            .asException();
      }
    }
    JsonNode query = body.path("query");
    if (!query.isTextual()) {
      String wrong =
          query.isMissingNode()
              ? "member \"query\" is missing"
              : "member \"query\" must be a string";
      throw Problem.badRequest(wrong + ": send {\"query\": \"…\"}").asException();
    }
    return query.asText();
  }

  private static JsonNode parse(String text) {
    try {
      return Json.parse(text);
    } catch (JsonProcessingException e) {
      throw JsonFault.find(text)
          .map(RequestBody::notJson)
          .orElseGet(RequestBody::tooMuch)
          .asException();
    }
  }

  private static Problem notJson(JsonFault fault) {
    String detail =
        "the body is not JSON at line %d, column %d: expected %s, found %s"
            .formatted(fault.line(), fault.column(), fault.expected(), fault.found());
    return Problem.badRequest(detail)
        .withMember("line", IntNode.valueOf(fault.line()))
        .withMember("column", IntNode.valueOf(fault.column()))
        .withMember("expected", TextNode.valueOf(fault.expected()));
  }

  /**
   * Returns the problem for a body that exceeds the parser's limits, which JSON itself does not
   * have.
   */
  private static Problem tooMuch() {
    return Problem.badRequest("the body contains a number or a member name that is too long");
  }
}
