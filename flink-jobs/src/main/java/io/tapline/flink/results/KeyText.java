package io.tapline.flink.results;

import com.fasterxml.jackson.core.JsonGenerator;
import io.tapline.flink.group.KeyFields;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;

/** Formats keys for people and JSON. */
final class KeyText {
  /** Text of the only group of a processor without key fields. */
  static final String ALL = "*";

  private KeyText() {}

  /**
   * Returns the value of a key's only field as a string. Returns a JSON array for several fields,
   * or for a field without a value. Different keys have different strings, unless a string imitates
   * such an array or an escaped byte.
   */
  static String of(byte[] key) {
    List<Object> fields = KeyFields.read(key);
    if (fields.isEmpty()) {
      return ALL;
    }
    return fields.size() == 1 && fields.get(0) != null
        ? String.valueOf(fields.get(0))
        : array(fields);
  }

  private static String array(List<Object> fields) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = Json.FACTORY.createGenerator(text)) {
      json.writeStartArray();
      for (Object field : fields) {
        Json.write(json, field);
      }
      json.writeEndArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }
}
