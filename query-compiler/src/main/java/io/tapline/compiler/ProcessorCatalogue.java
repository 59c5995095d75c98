package io.tapline.compiler;

import io.tapline.compiler.ProcessorInfo.ArgumentInfo;
import io.tapline.compiler.ProcessorInfo.ArgumentType;
import io.tapline.schema.proto.Aggregate;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The processors that PROCESS can name, with what {@code tapline processors} shows of them. */
public final class ProcessorCatalogue {
  static final int MOST_K = 10_000;
  static final int DEFAULT_K = 10;
  static final long SHORTEST_WINDOW_NS = 10 * Literals.NS_PER_MS;
  static final long LONGEST_WINDOW_NS = 24L * 3600 * 1000 * Literals.NS_PER_MS;
  static final long DEFAULT_WINDOW_NS = 10_000 * Literals.NS_PER_MS;

  /** Panes in a window: each costs the stream job memory per key. */
  static final int MOST_PANES = 10_000;

  static final List<String> ORDERS = List.of("desc", "asc");
  static final List<String> AGGREGATES = List.of("count", "sum", "max", "min", "avg");

  private static final List<Definition> DEFINITIONS =
      List.of(
          new Definition(Family.TOP_K, topK(), null),
          diff("diff-group", "each group's distribution of durations", Aggregate.DISTRIBUTION),
          diff("diff-group-avg", "each group's mean duration", Aggregate.AVG),
          group("group-sum", "each group's sum of a field", Aggregate.SUM),
          group("group-avg", "each group's mean of a field", Aggregate.AVG),
          group("group-max", "each group's largest value of a field", Aggregate.MAX),
          group("group-min", "each group's smallest value of a field", Aggregate.MIN),
          group("group-count", "each group's number of tuples", Aggregate.COUNT));

  private ProcessorCatalogue() {}

  /** How a processor becomes a plan. */
  enum Family {
    TOP_K,
    DIFF,
    GROUP
  }

  /**
   * A processor and its meaning.
   *
   * @param aggregate null for top-k, which chooses by its arguments
   */
  record Definition(Family family, ProcessorInfo info, Aggregate aggregate) {}

  /** All processors, in the order in which they are shown. */
  public static List<ProcessorInfo> all() {
    return DEFINITIONS.stream().map(Definition::info).toList();
  }

  /** The processor of this name, however spelled. */
  public static Optional<ProcessorInfo> find(String name) {
    return definition(name).map(Definition::info);
  }

  static Optional<Definition> definition(String name) {
    return DEFINITIONS.stream().filter(one -> Names.same(one.info().name(), name)).findFirst();
  }

  static List<String> names() {
    return DEFINITIONS.stream().map(one -> one.info().name()).toList();
  }

  private static ProcessorInfo topK() {
    return new ProcessorInfo(
        "top-k",
        "the k keys with the most tuples, or the largest values, over a rolling window",
        List.of(
            new ArgumentInfo("k", ArgumentType.INTEGER, "10", "1 to " + MOST_K, "rows kept"),
            new ArgumentInfo(
                "w", ArgumentType.DURATION, "10s", "10ms to 24h", "length of the window"),
            slide("w/10, at least 1s, at most w"),
            new ArgumentInfo(
                "by",
                ArgumentType.FIELD,
                "none: tuples are counted",
                "a numeric field",
                "what is ranked"),
            new ArgumentInfo(
                "order",
                ArgumentType.CHOICE,
                "desc",
                Names.either(ORDERS),
                "desc: largest first; asc: smallest first"),
            new ArgumentInfo(
                "key",
                ArgumentType.FIELDS,
                "the parser's main fields",
                "fields",
                "what a row stands for"),
            new ArgumentInfo(
                "agg",
                ArgumentType.CHOICE,
                "count; with by= the sum of an additive field, of others the max (the min with order=asc)",
                Names.either(AGGREGATES),
                "how a key's values become one")));
  }

  private static Definition diff(String name, String description, Aggregate aggregate) {
    String whole = description + ": from start to end, as the first parser knows them";
    List<ArgumentInfo> arguments = new ArrayList<>(List.of(groupBy()));
    arguments.addAll(queryWindow());
    return new Definition(Family.DIFF, new ProcessorInfo(name, whole, arguments), aggregate);
  }

  private static Definition group(String name, String description, Aggregate aggregate) {
    List<ArgumentInfo> arguments = new ArrayList<>(List.of(groupBy()));
    if (aggregate != Aggregate.COUNT) {
      arguments.add(
          new ArgumentInfo(
              "by",
              ArgumentType.FIELD,
              "the parser's value field",
              "a numeric field",
              "what is aggregated"));
    }
    arguments.addAll(queryWindow());
    return new Definition(Family.GROUP, new ProcessorInfo(name, description, arguments), aggregate);
  }

  private static ArgumentInfo groupBy() {
    return new ArgumentInfo(
        "group", ArgumentType.FIELDS, "none: one group", "fields", "what a group has in common");
  }

  private static List<ArgumentInfo> queryWindow() {
    return List.of(
        new ArgumentInfo(
            "w",
            ArgumentType.DURATION,
            "none: the whole query",
            "10ms to 24h",
            "length of the window"),
        slide("w/10, at least 1s, at most w; without w 10s"));
  }

  private static ArgumentInfo slide(String defaultText) {
    return new ArgumentInfo(
        "s",
        ArgumentType.DURATION,
        defaultText,
        "10ms to w; w and s make at most %d panes".formatted(MOST_PANES),
        "how far the window advances from result to result");
  }
}
