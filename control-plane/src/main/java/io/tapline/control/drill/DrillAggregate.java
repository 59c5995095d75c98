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
 * A number over the headers of several nodes: which numbers each node is asked for, and how they
 * are put together.
 *
 * @param function COUNT, SUM, AVG, MIN, MAX, DISTINCT or QUANTILE
 * @param field what it is of; empty for COUNT
 * @param groupBy fields, at most four
 */
public record DrillAggregate(String function, String field, List<String> groupBy) {
  private static final Pattern TEXT =
      Pattern.compile("\\s*(\\w+)\\s*(?:\\(\\s*([\\w.]*)\\s*\\))?\\s*");
  private static final List<String> MERGED = List.of("COUNT", "SUM", "AVG", "MIN", "MAX");
  private static final List<String> OF_ONE_NODE = List.of("DISTINCT", "QUANTILE", "STDEV");

  /**
   * Reads "SUM(bytes)" or "count".
   *
   * @throws DrillException if it is no such thing
   */
  public static DrillAggregate parse(String text, List<String> groupBy) throws DrillException {
    Matcher matcher = TEXT.matcher(text);
    String function = matcher.matches() ? matcher.group(1).toUpperCase(Locale.ROOT) : "";
    if (!MERGED.contains(function) && !OF_ONE_NODE.contains(function)) {
      throw new DrillException(
          Kind.INVALID,
          "'"
              + text
              + "' is no aggregate: give one of COUNT, SUM(field), AVG(field), MIN(field), MAX(field), STDEV(field), DISTINCT(field), QUANTILE(field)");
    }
    String field = matcher.group(2) == null ? "" : matcher.group(2);
    if (field.isEmpty() && !function.equals("COUNT")) {
      throw new DrillException(Kind.INVALID, function + " needs a field: " + function + "(bytes)");
    }
    return new DrillAggregate(function, field, List.copyOf(groupBy));
  }

  /** As it is written: "SUM(bytes)". */
  public String text() {
    return field.isEmpty() ? function : function + "(" + field + ")";
  }

  /** Whether answers of several nodes can be put together. */
  boolean isMergeable() {
    return MERGED.contains(function);
  }

  /** What each node is asked for. */
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

  /** Numbers by group, one for each part; null where there is none yet. */
  static final class Sums {
    private final DrillAggregate aggregate;
    private final Map<List<String>, Double[]> byGroup = new LinkedHashMap<>();

    Sums(DrillAggregate aggregate) {
      this.aggregate = aggregate;
    }

    /** Adds what a node answered for that part. */
    void add(int part, AggregateReply reply) {
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

    private void add(int part, List<String> group, List<NodeNumber> values) {
      Double number = values.isEmpty() ? null : number(values.get(0));
      if (number == null) {
        return;
      }
      Double[] numbers =
          byGroup.computeIfAbsent(group, key -> new Double[aggregate.parts().size()]);
      Double before = numbers[part];
      if (before == null) {
        numbers[part] = number;
        return;
      }
      numbers[part] =
          switch (aggregate.function) {
            case "MIN" -> Math.min(before, number);
            case "MAX" -> Math.max(before, number);
            default -> before + number;
          };
    }

    private static Double number(NodeNumber number) {
      return switch (number.getValueCase()) {
        case WHOLE -> (double) number.getWhole();
        case REAL -> number.getReal();
        case VALUE_NOT_SET -> null;
      };
    }

    /** By group, the keys in the order of the fields; the empty list for all others together. */
    Map<List<String>, Double> result() {
      Map<List<String>, Double> result = new LinkedHashMap<>();
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
