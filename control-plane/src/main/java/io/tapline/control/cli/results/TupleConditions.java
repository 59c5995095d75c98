package io.tapline.control.cli.results;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Formats a plan's conditions on tuples for a table's header. */
final class TupleConditions {
  private static final Map<String, String> OPERATORS =
      Map.of(
          "EQUAL", "=",
          "NOT_EQUAL", "!=",
          "LESS", "<",
          "LESS_OR_EQUAL", "<=",
          "GREATER", ">",
          "GREATER_OR_EQUAL", ">=");

  private TupleConditions() {}

  /** Returns {@code status >= 500}; for a field that must be true, its name. */
  static String text(JsonNode conditions) {
    List<String> texts = new ArrayList<>();
    for (JsonNode condition : conditions) {
      String field = condition.path("field").asText();
      List<String> values = new ArrayList<>();
      condition.path("values").forEach(value -> values.add(value(value.asText())));
      String operator = OPERATORS.get(condition.path("operator").asText("EQUAL"));
      String all = String.join(", ", values);
      texts.add(
          operator.equals("=") && all.equals("true") ? field : field + " " + operator + " " + all);
    }
    return String.join(" and ", texts);
  }

  private static String value(String text) {
    return text.isEmpty() ? "\"\"" : text;
  }
}
