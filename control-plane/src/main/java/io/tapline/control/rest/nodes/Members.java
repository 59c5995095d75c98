package io.tapline.control.rest.nodes;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.rest.http.Problem;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads members of a request's JSON object; each method throws a problem if the member has the
 * wrong type.
 */
final class Members {
  private Members() {}

  static long number(JsonNode body, String name, long usual, long max) {
    JsonNode value = body.path(name);
    if (value.isMissingNode() || value.isNull()) {
      return usual;
    }
    if (!value.canConvertToLong() || !value.isIntegralNumber()) {
      throw Problem.badRequest("member \"" + name + "\" must be a whole number").asException();
    }
    if (value.asLong() < 0 || value.asLong() > max) {
      throw Problem.badRequest("member \"" + name + "\" must be 0 to " + max).asException();
    }
    return value.asLong();
  }

  static String text(JsonNode body, String name) {
    JsonNode value = body.path(name);
    if (!value.isMissingNode() && !value.isNull() && !value.isTextual()) {
      throw Problem.badRequest("member \"" + name + "\" must be a string").asException();
    }
    return value.asText("");
  }

  static boolean flag(JsonNode body, String name) {
    JsonNode value = body.path(name);
    if (!value.isMissingNode() && !value.isNull() && !value.isBoolean()) {
      throw Problem.badRequest("member \"" + name + "\" must be true or false").asException();
    }
    return value.asBoolean(false);
  }

  static List<String> texts(JsonNode body, String name) {
    JsonNode value = body.path(name);
    List<String> texts = new ArrayList<>();
    if (value.isMissingNode() || value.isNull()) {
      return texts;
    }
    boolean wanted = value.isArray();
    for (JsonNode item : value) {
      wanted &= item.isTextual() && !item.textValue().isEmpty();
      texts.add(item.asText());
    }
    if (!wanted) {
      String message = "member \"%s\" must be a list of non-empty strings".formatted(name);
      throw Problem.badRequest(message).asException();
    }
    return texts;
  }
}
