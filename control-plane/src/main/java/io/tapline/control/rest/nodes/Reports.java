package io.tapline.control.rest.nodes;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import io.tapline.control.diagnose.FlowKey;

/** Converts the records of reports to JSON objects. */
final class Reports {
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .addModule(new SimpleModule().addSerializer(FlowKey.class, ToStringSerializer.instance))
          .build();

  private Reports() {}

  /** Converts a record, or an object that is already JSON, to JSON with members in snake case. */
  static ObjectNode json(Object report) {
    return MAPPER.valueToTree(report);
  }
}
