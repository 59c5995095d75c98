package io.tapline.control.rest.system;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.compiler.catalogue.FieldInfo;
import io.tapline.compiler.catalogue.ParserArgumentInfo;
import io.tapline.compiler.catalogue.ParserInfo;
import io.tapline.compiler.catalogue.ParserInfo.DurationEvents;
import io.tapline.compiler.catalogue.ParserInfo.DurationField;
import io.tapline.compiler.catalogue.ParserInfo.DurationSource;
import io.tapline.compiler.catalogue.ProcessorInfo;
import io.tapline.compiler.catalogue.ProcessorInfo.ArgumentInfo;
import io.tapline.control.rest.http.Json;
import java.util.Locale;

/** Parsers and processors as JSON; parsers in the format in which the monitor lists them. */
final class CatalogueJson {
  private CatalogueJson() {}

  static ObjectNode parser(ParserInfo parser) {
    ObjectNode json =
        Json.object()
            .put("name", parser.name())
            .put("description", parser.description())
            .put("layer", parser.layer().name().toLowerCase(Locale.ROOT));
    json.set("main_fields", Json.strings(parser.mainFields()));
    json.put("value_field", parser.valueField().orElse(null));
    json.set(
        "duration", parser.duration().map(CatalogueJson::duration).orElse(NullNode.getInstance()));
    json.put("interval_ns", parser.intervalNs())
        .put("interval_argument", parser.intervalArgument().orElse(null))
        .put("all_traffic", parser.allTraffic())
        .put("counted", parser.counted());
    ArrayNode arguments = json.putArray("arguments");
    parser.arguments().forEach(argument -> arguments.add(argument(argument)));
    ArrayNode fields = json.putArray("fields");
    parser.fields().forEach(field -> fields.add(field(field)));
    return json;
  }

  private static ObjectNode argument(ParserArgumentInfo argument) {
    ObjectNode json =
        Json.object()
            .put("name", argument.name())
            .put("type", argument.type().name().toLowerCase(Locale.ROOT))
            .put("unit", argument.unit())
            .put("description", argument.description())
            .put("default", argument.defaultValue());
    if (argument.type() == FieldInfo.Type.STRING) {
      json.set("choices", Json.strings(argument.choices()));
    } else if (argument.type().isNumeric()) {
      json.put("min", argument.min()).put("max", argument.max());
      if (argument.step() != 1) {
        json.put("step", argument.step());
      }
    }
    return json;
  }

  private static JsonNode duration(DurationSource source) {
    if (source instanceof DurationEvents events) {
      ObjectNode json = Json.object().put("event_field", events.eventField());
      json.set("start", Json.strings(events.start()));
      json.set("end", Json.strings(events.end()));
      return json;
    }
    return Json.object().put("field", ((DurationField) source).field());
  }

  private static ObjectNode field(FieldInfo field) {
    return Json.object()
        .put("name", field.name())
        .put("type", field.type().name().toLowerCase(Locale.ROOT))
        .put("unit", field.unit())
        .put("description", field.description())
        .put("additive", field.additive())
        .put("common", field.common())
        .put("optional", field.optional());
  }

  static ObjectNode processor(ProcessorInfo processor) {
    ObjectNode json =
        Json.object().put("name", processor.name()).put("description", processor.description());
    ArrayNode arguments = json.putArray("arguments");
    processor.arguments().forEach(argument -> arguments.add(argument(argument)));
    return json;
  }

  private static ObjectNode argument(ArgumentInfo argument) {
    return Json.object()
        .put("name", argument.name())
        .put("type", argument.type().text)
        .put("default", argument.defaultText())
        .put("range", argument.range())
        .put("description", argument.description());
  }
}
