package io.tapline.control.rest.nodes;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.drill.DrillException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The headers behind an alert of a query: both directions of the connections between the clients
 * and servers of its group. If the group has other fields, such as a URL, only the connections that
 * the row names as exemplars can be found in headers.
 */
final class QueryAlert {
  private static final Map<String, String> REVERSE =
      Map.of(
          "src_ip", "dst_ip",
          "dst_ip", "src_ip",
          "src_port", "dst_port",
          "dst_port", "src_port");

  private QueryAlert() {}

  /**
   * Returns the headers behind a row.
   *
   * @param processor the row's processor in the query's plan
   */
  static AlertHeaders headers(String id, JsonNode row, JsonNode processor) throws DrillException {
    return new AlertHeaders(
        id,
        condition(id, row, processor),
        row.path("window_start_ns").asLong(),
        row.path("window_end_ns").asLong(),
        List.of(),
        "");
  }

  private static String condition(String id, JsonNode row, JsonNode processor)
      throws DrillException {
    Map<String, String> key = new LinkedHashMap<>();
    for (Map.Entry<String, JsonNode> field : row.path("key").properties()) {
      if (!REVERSE.containsKey(field.getKey()) || field.getValue().isNull()) {
        return exemplars(id, row);
      }
      key.put(field.getKey(), value(field.getKey(), field.getValue().asText(), processor));
    }
    return bothDirections(key);
  }

  /**
   * Returns the condition that selects the headers, in both directions, of connections with these
   * values.
   *
   * @param key values by field: addresses, networks such as 10.1.0.0/16, and ports
   */
  static String bothDirections(Map<String, String> key) {
    List<String> predicates = new ArrayList<>();
    List<String> back = new ArrayList<>();
    key.forEach(
        (field, value) -> {
          String compared = (value.contains("/") ? " in " : " == ") + value;
          predicates.add(named(field, value) + compared);
          back.add(named(REVERSE.get(field), value) + compared);
        });
    return predicates.isEmpty()
        ? ""
        : "(%s) || (%s)".formatted(String.join(" && ", predicates), String.join(" && ", back));
  }

  /**
   * Returns the value; if the processor groups the field by network, the network that begins at
   * this address.
   */
  private static String value(String field, String value, JsonNode processor) {
    for (JsonNode network : processor.path("networks")) {
      if (network.path("field").asText().equals(field)) {
        return value + "/" + network.path(value.contains(":") ? "ipv6" : "ipv4").asInt();
      }
    }
    return value;
  }

  /**
   * Returns the header field that contains a value: IPv4 and IPv6 addresses are in different
   * fields.
   */
  private static String named(String field, String value) {
    return value.contains(":") ? field + "6" : field;
  }

  private static String exemplars(String id, JsonNode row) throws DrillException {
    List<String> flows = new ArrayList<>();
    for (JsonNode exemplar : row.path("exemplars")) {
      flows.add("flow == 0x" + exemplar.path("flow_id").asText().split("-")[0]);
    }
    if (flows.isEmpty()) {
      throw DrillException.invalid(
          "headers do not have the group %s of alert %s, and its row names no connections"
              .formatted(row.path("key"), id));
    }
    return String.join(" || ", flows);
  }
}
