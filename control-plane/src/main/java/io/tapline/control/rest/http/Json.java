package io.tapline.control.rest.http;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import java.nio.charset.StandardCharsets;
import java.util.Collection;

/** Reads and writes JSON. */
public final class Json {
  public static final String MEDIA_TYPE = "application/json";

  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
          .build();

  private Json() {}

  public static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  static ArrayNode array() {
    return MAPPER.createArrayNode();
  }

  public static ArrayNode strings(Collection<String> texts) {
    ArrayNode array = array();
    texts.forEach(array::add);
    return array;
  }

  /** Reads one JSON value; rejects trailing text and duplicate names in an object. */
  public static JsonNode parse(String text) throws JsonProcessingException {
    return MAPPER.readTree(text);
  }

  /**
   * Encodes a value in UTF-8, as JSON requires (RFC 8259): the framework would use the host's
   * encoding for types that it does not know.
   */
  public static byte[] bytes(JsonNode value) {
    return value.toString().getBytes(StandardCharsets.UTF_8);
  }

  public static void answer(Context ctx, int status, JsonNode body) {
    answer(ctx, status, bytes(body));
  }

  /** Responds with a serialized value. */
  public static void answer(Context ctx, int status, byte[] body) {
    ctx.status(status).contentType(MEDIA_TYPE).result(body);
  }
}
