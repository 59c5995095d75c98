package io.tapline.compiler.catalogue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.compiler.text.Names;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** Reads {@code parsers.json} and rejects inconsistent contents. */
final class CatalogueReader {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Path of the current element, for messages. */
  private final String where;

  private CatalogueReader(String where) {
    this.where = where;
  }

  static Catalogue read(String json) {
    JsonNode list = parse(json).path("parsers");
    if (!list.isArray() || list.isEmpty()) {
      throw new IllegalArgumentException("parser catalogue: no list \"parsers\"");
    }
    List<ParserInfo> parsers = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (JsonNode node : list) {
      CatalogueReader reader = new CatalogueReader("parser %d".formatted(parsers.size() + 1));
      ParserInfo parser = reader.parser(node);
      reader.require(
          names.add(Names.normal(parser.name())), "second parser named " + parser.name());
      parsers.add(parser);
    }
    return new Catalogue(parsers);
  }

  private static JsonNode parse(String json) {
    try {
      return MAPPER.readTree(json);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(
          "parser catalogue: it is not JSON: " + e.getOriginalMessage(), e);
    }
  }

  private ParserInfo parser(JsonNode node) {
    String name = text(node, "name");
    CatalogueReader inside = new CatalogueReader("parser " + name);
    ParserInfo parser =
        new ParserInfo(
            name,
            node.path("description").asText(""),
            inside.choice(ParserInfo.Layer.class, node, "layer"),
            inside.texts(node, "main_fields"),
            Optional.ofNullable(node.get("value_field"))
                .filter(JsonNode::isTextual)
                .map(JsonNode::asText),
            inside.duration(node.path("duration")),
            node.path("interval_ns").asLong(0),
            Optional.ofNullable(node.get("interval_argument"))
                .filter(JsonNode::isTextual)
                .map(JsonNode::asText),
            node.path("all_traffic").asBoolean(false),
            node.path("queues").asBoolean(false),
            node.path("counted").asBoolean(false),
            inside.arguments(node.path("arguments")),
            inside.fields(node.path("fields")));
    inside.checkReferences(parser);
    inside.require(parser.intervalNs() >= 0, "interval_ns is negative");
    parser.intervalArgument().ifPresent(argument -> inside.checkInterval(parser, argument));
    return parser;
  }

  private Optional<ParserInfo.DurationSource> duration(JsonNode node) {
    if (node.isMissingNode() || node.isNull()) {
      return Optional.empty();
    }
    if (node.has("field")) {
      return Optional.of(new ParserInfo.DurationField(text(node, "field")));
    }
    return Optional.of(
        new ParserInfo.DurationEvents(
            text(node, "event_field"), texts(node, "start"), texts(node, "end")));
  }

  private List<ParserArgumentInfo> arguments(JsonNode list) {
    List<ParserArgumentInfo> arguments = new ArrayList<>();
    for (JsonNode node : list) {
      String name = text(node, "name");
      CatalogueReader inside = new CatalogueReader(where + ", argument " + name);
      FieldInfo.Type type = inside.choice(FieldInfo.Type.class, node, "type");
      List<String> choices =
          type == FieldInfo.Type.STRING ? inside.texts(node, "choices") : List.of();
      arguments.add(
          new ParserArgumentInfo(
              name,
              type,
              node.path("unit").asText(""),
              node.path("description").asText(""),
              inside.text(node, "default"),
              node.path("min").decimalValue(),
              node.path("max").decimalValue(),
              choices,
              node.path("step").asLong(1)));
      inside.require(node.path("step").asLong(1) >= 1, "step is not positive");
    }
    long different =
        arguments.stream().map(argument -> Names.normal(argument.name())).distinct().count();
    require(different == arguments.size(), "two arguments have the same name");
    return arguments;
  }

  private List<FieldInfo> fields(JsonNode list) {
    List<FieldInfo> fields = new ArrayList<>();
    for (JsonNode node : list) {
      String name = text(node, "name");
      fields.add(
          new FieldInfo(
              name,
              new CatalogueReader(where + ", field " + name)
                  .choice(FieldInfo.Type.class, node, "type"),
              node.path("unit").asText(""),
              node.path("description").asText(""),
              node.path("additive").asBoolean(false),
              node.path("common").asBoolean(false),
              node.path("optional").asBoolean(false)));
    }
    long different = fields.stream().map(FieldInfo::name).distinct().count();
    require(different == fields.size(), "two fields have the same name");
    return fields;
  }

  private void checkReferences(ParserInfo parser) {
    List<String> referred = new ArrayList<>(parser.mainFields());
    parser.valueField().ifPresent(referred::add);
    parser
        .duration()
        .map(
            d ->
                d instanceof ParserInfo.DurationEvents events
                    ? events.eventField()
                    : ((ParserInfo.DurationField) d).field())
        .ifPresent(referred::add);
    for (String field : referred) {
      require(
          parser.field(field).isPresent(), "no field " + field + ", to which the parser refers");
    }
    for (ParserArgumentInfo argument : parser.arguments()) {
      boolean text =
          parser.field(argument.name()).filter(f -> f.type() == FieldInfo.Type.STRING).isPresent();
      require(!text, "argument " + argument.name() + " has the name of a string field");
    }
    boolean numeric =
        parser.valueField().flatMap(parser::field).map(f -> f.type().isNumeric()).orElse(true);
    require(numeric, "value_field is not numeric");
  }

  private void checkInterval(ParserInfo parser, String name) {
    boolean isInterval =
        parser
            .argument(name)
            .filter(argument -> argument.type() == FieldInfo.Type.I64)
            .filter(argument -> argument.unit().equals("ns") && argument.min().signum() > 0)
            .isPresent();
    require(isInterval, "interval_argument " + name + " is not a duration above 0");
  }

  private String text(JsonNode node, String key) {
    JsonNode value = node.path(key);
    require(value.isTextual() && !value.asText().isEmpty(), "\"" + key + "\" must be a string");
    return value.asText();
  }

  private List<String> texts(JsonNode node, String key) {
    JsonNode list = node.path(key);
    require(list.isArray(), "\"" + key + "\" must be a list");
    List<String> texts = new ArrayList<>();
    for (JsonNode value : list) {
      require(value.isTextual(), "\"" + key + "\" must be a list of strings");
      texts.add(value.asText());
    }
    return texts;
  }

  private <E extends Enum<E>> E choice(Class<E> type, JsonNode node, String key) {
    String text = text(node, key);
    for (E value : type.getEnumConstants()) {
      if (value.name().toLowerCase(Locale.ROOT).equals(text)) {
        return value;
      }
    }
    throw new IllegalArgumentException(
        "parser catalogue, %s: unknown %s \"%s\"".formatted(where, key, text));
  }

  private void require(boolean valid, String error) {
    if (!valid) {
      throw new IllegalArgumentException("parser catalogue, %s: %s".formatted(where, error));
    }
  }
}
