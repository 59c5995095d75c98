package io.tapline.control.rest.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * JSON Schemas (2020-12) of the requests and responses; the named schemas are in {@code
 * schemas.json}.
 */
public final class Schemas {
  private static final String RESOURCE = "schemas.json";

  private Schemas() {}

  public static ObjectNode string() {
    return Json.object().put("type", "string");
  }

  public static ObjectNode integer(long minimum, long maximum) {
    return Json.object().put("type", "integer").put("minimum", minimum).put("maximum", maximum);
  }

  static ObjectNode reference(String name) {
    return Json.object().put("$ref", "#/components/schemas/" + name);
  }

  /** Returns the named schemas. */
  static JsonNode components() {
    try (InputStream in = Schemas.class.getResourceAsStream(RESOURCE)) {
      return Json.parse(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException("the program was built without " + RESOURCE, e);
    }
  }
}
