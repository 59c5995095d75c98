package io.tapline.control.drill;

import io.tapline.control.drill.DrillException.Kind;
import io.tapline.schema.rpc.AggregateFunction;
import io.tapline.schema.rpc.AggregateReply;
import io.tapline.schema.rpc.NodeNumber;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An aggregate over the headers of several nodes: the partials that each node is asked for, and how
 * they are merged.
 *
 * @param function COUNT, SUM, AVG, MIN, MAX, STDEV, DISTINCT or QUANTILE
 * @param field aggregated field; may be empty for COUNT
 * @param quantile argument of QUANTILE: 0 to 1
 * @param groupBy fields to group by, at most four
 */
public record DrillAggregate(String function, String field, double quantile, List<String> groupBy) {
  private static final Pattern TEXT =
      Pattern.compile(
          "\\s*(\\w+)\\s*(?:\\(\\s*([\\w.\\[\\]]*)\\s*(?:,\\s*([0-9.]+)\\s*)?\\))?\\s*");
  private static final List<String> OF_NUMBERS = List.of("COUNT", "SUM", "AVG", "MIN", "MAX");
  private static final double MEDIAN = 0.5;

  /**
   * Parses "SUM(bytes)", "count" or "quantile(bytes, 0.99)".
   *
   * @throws DrillException if the text is not an aggregate
   */
  public static DrillAggregate parse(String text, List<String> groupBy) throws DrillException {
    Matcher matcher = TEXT.matcher(text);
    String function = matcher.matches() ? matcher.group(1).toUpperCase(Locale.ROOT) : "";
    if (!OF_NUMBERS.contains(function) && !Sketches.has(function)) {
      throw new DrillException(
          Kind.INVALID,
          "'"
              + text
              + "' is not an aggregate: use one of COUNT, SUM(field), AVG(field), MIN(field), MAX(field), STDEV(field), DISTINCT(field), QUANTILE(field, 0.99)");
    }
    String field = matcher.group(2) == null ? "" : matcher.group(2);
    if (field.isEmpty() && !function.equals("COUNT")) {
      throw new DrillException(Kind.INVALID, function + " needs a field: " + function + "(bytes)");
    }
    return new DrillAggregate(
        function, field, quantile(function, matcher.group(3)), List.copyOf(groupBy));
  }

  private static double quantile(String function, String text) throws DrillException {
    if (text == null) {
      return MEDIAN;
    }
    try {
      double quantile = Double.parseDouble(text);
      if (function.equals("QUANTILE") && quantile >= 0 && quantile <= 1) {
        return quantile;
      }
    } catch (NumberFormatException e) {
      // The error is reported below.
    }
    throw new DrillException(
        Kind.INVALID,
        "'" + text + "': only QUANTILE takes a number, 0 to 1: QUANTILE(bytes, 0.99)");
  }

  /** Returns the aggregate as users write it: "SUM(bytes)". */
  public String text() {
    if (function.equals("QUANTILE") && quantile != MEDIAN) {
      return function + "(" + field + ", " + quantile + ")";
    }
    return field.isEmpty() ? function : function + "(" + field + ")";
  }

  /** Returns true if nodes send mergeable states instead of numbers. */
  boolean isOfStates() {
    return Sketches.has(function);
  }

  /** Returns the partials that each node is asked for. */
  List<AggregateFunction> parts() {
    List<String> names = function.equals("AVG") ? List.of("SUM", "COUNT") : List.of(function);
    List<AggregateFunction> parts = new ArrayList<>();
    for (String name : names) {
      parts.add(
          AggregateFunction.newBuilder()
              .setFunction(name)
              .setField(field)
              .addAllGroupBy(groupBy)
              .build());
    }
    return parts;
  }

  /** Merges the partials of nodes, by group. A number is null until a node has sent it. */
  static final class Sums {
    private final DrillAggregate aggregate;
    private final Map<List<String>, Double[]> byGroup = new LinkedHashMap<>();
    private final Map<List<String>, long[]> states = new LinkedHashMap<>();

    Sums(DrillAggregate aggregate) {
      this.aggregate = aggregate;
    }

    /**
     * Adds a node's response for a partial.
     *
     * @throws IllegalArgumentException if the response is invalid; then no part of it is added
     */
    void add(int part, AggregateReply reply) {
      if (aggregate.isOfStates()) {
        addStates(reply);
        return;
      }
      if (aggregate.groupBy.isEmpty()) {
        add(part, List.of(), reply.getValuesList());
      }
      for (AggregateReply.Group group : reply.getGroupsList()) {
        add(
            part,
            group.getRest() ? List.of() : List.copyOf(group.getKeysList()),
            group.getValuesList());
      }
    }

    private void addStates(AggregateReply reply) {
      Sketches kind = Sketches.valueOf(aggregate.function);
      Map<List<String>, long[]> read = new LinkedHashMap<>();
      if (aggregate.groupBy.isEmpty()) {
        read.put(List.of(), kind.read(reply.getState()));
      }
      for (AggregateReply.Group group : reply.getGroupsList()) {
        read.put(
            group.getRest() ? List.of() : List.copyOf(group.getKeysList()),
            kind.read(group.getState()));
      }
      read.forEach(
          (group, state) -> kind.merge(states.computeIfAbsent(group, key -> kind.empty()), state));
    }

    private void add(int part, List<String> group, List<NodeNumber> values) {
      Double number = values.isEmpty() ? null : number(values.get(0));
      if (number == null) {
        return;
      }
      Double[] numbers =
          byGroup.computeIfAbsent(group, key -> new Double[aggregate.parts().size()]);
      Double previousNumbers = numbers[part];
      if (previousNumbers == null) {
        numbers[part] = number;
        return;
      }
      numbers[part] =
          switch (aggregate.function) {
            case "MIN" -> Math.min(previousNumbers, number);
            case "MAX" -> Math.max(previousNumbers, number);
            default -> previousNumbers + number;
          };
    }

    private static Double number(NodeNumber number) {
      return switch (number.getValueCase()) {
        case WHOLE -> (double) number.getWhole();
        case REAL -> number.getReal();
        case VALUE_NOT_SET -> null;
      };
    }

    /**
     * Returns the results by group, with the keys in the order of the fields; the empty list stands
     * for all other groups together.
     */
    Map<List<String>, Double> result() {
      Map<List<String>, Double> result = new LinkedHashMap<>();
      states.forEach(
          (group, state) -> {
            Double value = Sketches.valueOf(aggregate.function).value(state, aggregate.quantile);
            if (value != null) {
              result.put(group, value);
            }
          });
      byGroup.forEach(
          (group, numbers) -> {
            if (numbers.length == 1) {
              result.put(group, numbers[0]);
            } else if (numbers[0] != null && numbers[1] != null && numbers[1] > 0) {
              result.put(group, numbers[0] / numbers[1]);
            }
          });
      return result;
    }
  }
}
