package io.tapline.control.coordination;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.tapline.compiler.access.Scope;
import io.tapline.control.drill.Coverage;
import io.tapline.control.drill.DrillAggregate;
import io.tapline.control.drill.DrillException;
import io.tapline.control.drill.HeaderFilter;
import io.tapline.control.drill.WatchRecord;
import io.tapline.control.drill.WatchRun;
import io.tapline.control.drill.WatchSpec;
import io.tapline.network.IpPrefix;
import io.tapline.schema.proto.ConditionTree;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Converts watch records to and from JSON. */
final class WatchJson {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private WatchJson() {}

  /** Returns a record as JSON. */
  static ObjectNode of(WatchRecord watch) {
    ObjectNode json = MAPPER.createObjectNode();
    json.put("id", watch.id()).put("owner", watch.owner()).put("token", watch.token());
    json.put("added_ns", watch.addedNs());
    json.put("ended_ns", watch.endedNs()).put("reason", watch.reason());
    WatchSpec spec = watch.spec();
    put(json, spec.filter());
    json.put("aggregate", spec.aggregate().text()).put("when", spec.when());
    json.set("group_by", MAPPER.valueToTree(spec.aggregate().groupBy()));
    json.put("window_ns", spec.windowNs()).put("every_ns", spec.everyNs());
    json.put("severity", spec.severity()).put("together", spec.together());
    json.set("nodes", MAPPER.valueToTree(spec.nodes()));
    if (spec.run().inMonitor()) {
      json.put("after", spec.rules().after()).put("clear", spec.rules().clear());
      json.put("cooldown_ns", spec.rules().cooldownNs());
      json.putObject("monitor")
          .put("reason", spec.run().reason())
          .put("query", watch.query())
          .put("trigger", watch.trigger());
    }
    ObjectNode coverage = json.putObject("coverage");
    watch.coverage().forEach((node, nodeCoverage) -> coverage.set(node, of(nodeCoverage)));
    return json;
  }

  private static void put(ObjectNode json, HeaderFilter filter) {
    json.put("filter", filter.text());
    filter.condition().ifPresent(tree -> json.put("condition", text(tree)));
    ArrayNode scope = json.putArray("scope");
    filter.scope().prefixes().forEach(prefix -> scope.add(prefix.toString()));
  }

  private static String text(ConditionTree tree) {
    try {
      return JsonFormat.printer().omittingInsignificantWhitespace().print(tree);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException("a condition has no messages of unknown type", e);
    }
  }

  private static ObjectNode of(Coverage coverage) {
    ObjectNode json = MAPPER.createObjectNode();
    json.put("incarnation", coverage.incarnation()).put("since_ns", coverage.sinceNs());
    json.put("not_evaluated_ns", coverage.notEvaluatedNs());
    ArrayNode gaps = json.putArray("gaps");
    for (Coverage.Gap gap : coverage.gaps()) {
      gaps.addObject()
          .put("from_ns", gap.fromNs())
          .put("to_ns", gap.toNs())
          .put("reason", gap.reason());
    }
    return json;
  }

  /**
   * Parses the result of {@link #of(WatchRecord)}.
   *
   * @throws IOException if the JSON is not such a record
   */
  static WatchRecord read(JsonNode json) throws IOException {
    String id = json.path("id").asText();
    try {
      Map<String, Coverage> coverage = new LinkedHashMap<>();
      json.path("coverage")
          .properties()
          .forEach(field -> coverage.put(field.getKey(), coverage(field.getValue())));
      return new WatchRecord(
          id,
          spec(json),
          json.path("owner").asText(),
          json.path("token").asText(),
          json.path("added_ns").asLong(),
          json.path("ended_ns").asLong(),
          json.path("reason").asText(),
          json.path("monitor").path("query").asText(),
          json.path("monitor").path("trigger").asInt(),
          coverage);
    } catch (DrillException | IllegalArgumentException e) {
      throw new IOException(
          "the record of watch '%s' can't be read: %s".formatted(id, e.getMessage()), e);
    }
  }

  private static WatchSpec spec(JsonNode json) throws IOException, DrillException {
    WatchSpec spec =
        new WatchSpec(
            filter(json),
            DrillAggregate.parse(json.path("aggregate").asText(), texts(json.path("group_by"))),
            json.path("when").asText(),
            json.path("window_ns").asLong(),
            json.path("every_ns").asLong(),
            json.path("severity").asText(),
            texts(json.path("nodes")),
            json.path("together").asBoolean(),
            json.has("monitor")
                ? new WatchRun(true, json.path("monitor").path("reason").asText())
                : WatchRun.NODES,
            // Records of earlier versions have no rules.
            new WatchSpec.Rules(
                json.path("after").asInt(1),
                json.path("clear").asText(),
                json.path("cooldown_ns").asLong()));
    spec.check();
    return spec;
  }

  private static HeaderFilter filter(JsonNode json) throws IOException {
    List<IpPrefix> scope = new ArrayList<>();
    if (!json.path("scope").isArray()) {
      // A record without a scope must not become one that sees everything.
      throw new IllegalArgumentException("it has no scope");
    }
    for (String prefix : texts(json.path("scope"))) {
      scope.add(
          Scope.prefix(prefix)
              .orElseThrow(() -> new IllegalArgumentException(prefix + " is not a network")));
    }
    Optional<ConditionTree> condition = Optional.empty();
    if (json.has("condition")) {
      ConditionTree.Builder tree = ConditionTree.newBuilder();
      JsonFormat.parser().merge(json.path("condition").asText(), tree);
      condition = Optional.of(tree.build());
    } else if (!scope.isEmpty() && !json.has("monitor")) {
      throw new IllegalArgumentException("it has a scope but no condition");
    }
    return new HeaderFilter(json.path("filter").asText(), condition, new Scope(scope));
  }

  private static Coverage coverage(JsonNode json) {
    List<Coverage.Gap> gaps = new ArrayList<>();
    for (JsonNode gap : json.path("gaps")) {
      gaps.add(
          new Coverage.Gap(
              gap.path("from_ns").asLong(),
              gap.path("to_ns").asLong(),
              gap.path("reason").asText()));
    }
    return new Coverage(
        json.path("incarnation").asLong(),
        json.path("since_ns").asLong(),
        json.path("not_evaluated_ns").asLong(),
        gaps);
  }

  private static List<String> texts(JsonNode array) {
    List<String> texts = new ArrayList<>();
    array.forEach(text -> texts.add(text.asText()));
    return texts;
  }
}
